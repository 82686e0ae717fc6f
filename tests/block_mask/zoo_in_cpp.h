// The masks of tests/data/masks.json written with C++ operators.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "jali/predicate.h"

namespace jali::test {

// Tables and scalars of an entry, by name.
struct ZooValues {
    std::map<std::string, Table> tables;
    std::map<std::string, int64_t> scalars;
};

const std::map<std::string, std::function<Predicate(const ZooValues&)>>& zoo_in_cpp();

}  // namespace jali::test

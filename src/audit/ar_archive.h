// Static archives (.a): the members of an ar file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace jali::audit {

struct ArMember {
    std::string name;
    uint64_t offset = 0;
    std::span<const uint8_t> bytes;
};

// Visits the members but for the tables of symbols and names, in GNU's and BSD's form. Throws FileError where it
// cannot go on, after the members before that were visited.
void read_ar(std::span<const uint8_t> bytes, const std::function<void(const ArMember&)>& on_member);

}  // namespace jali::audit

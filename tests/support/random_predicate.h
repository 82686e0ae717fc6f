// Random predicates decoded from a list of numbers: any list gives one, and a shorter list of smaller numbers gives a
// smaller one, so that a property test's shrinking of the list shrinks the predicate.
#pragma once

#include <cstdint>
#include <vector>

#include "jali/predicate.h"

namespace jali::test {

struct RandomPredicateOptions {
    int64_t q_len, kv_len;
    bool may_fail = true;     // division by what may be 0, unguarded reads, large values
    bool uses_heads = false;  // b and h among the leaves
};

Predicate decode_predicate(const std::vector<uint32_t>& genome, const RandomPredicateOptions& options);

}  // namespace jali::test

// Interval arithmetic over regions of pairs: bounds of a value, and whether it may fail to exist.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mask/arithmetic.h"

namespace jali {

struct Instruction;
struct Program;

// Queries [q_first, q_last] x keys [kv_first, kv_last], not empty.
struct Region {
    int64_t q_first, q_last, kv_first, kv_last;
};

// Every value of an expression over a region lies in [lo, hi]; booleans are 0 and 1. Unless may_fail is set, the value
// exists at every pair of the region.
struct Interval {
    int64_t lo;
    int64_t hi;
    bool may_fail;

    bool single() const { return lo == hi; }
    bool decided() const { return lo == hi && !may_fail; }
};

// The interval of one instruction, given those of all instructions before it.
Interval interval_of(const Instruction& instruction, std::span<const Interval> before, const Region& region);

// Fills `values` (one an instruction) and returns the last: the predicate's.
Interval intervals_over(const Program& program, const Region& region, std::vector<Interval>& values);

}  // namespace jali

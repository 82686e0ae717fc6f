// What the parts of src/mask share about nodes of the expression tree.
#pragma once

#include <cstdint>
#include <string_view>

#include "jali/predicate.h"

namespace jali {

// Trees are walked recursively and without remembering shared nodes, and evaluating a tile holds a few KiB a node: both
// are bounded where trees are made.
inline constexpr int32_t kMaximumDepth = 1000;
inline constexpr int64_t kMaximumNodes = 20'000;

// The operation in the user's words, for errors: "+", "and", "min", "x if c else y".
std::string_view name_of(Op op);

}  // namespace jali

// Tile boundaries: aligned, or anchored at the edges of a mask.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jali/block_mask.h"
#include "mask/program.h"

namespace jali {

// Tiles of 128 rows from each anchor to the next, the last one short where it does not divide. Anchors ascend and lie
// strictly inside the length; none gives the aligned grid.
std::vector<Tile> tiles_from(std::span<const int64_t> anchors, int64_t length);

// Where a mask's own parts change along each side.
struct Anchors {
    std::vector<int64_t> q, kv;
};

// The positions at which the largest sub-expressions over q alone (or kv alone) take a new value: document starts,
// chunk borders, the ends of prefixes. The union over the heads of one batch. A side with so many changes that short
// tiles would dominate has none. Adds the interval decisions that it took to `decisions`.
Anchors anchors_of(std::span<const Program> heads, int64_t& decisions);

}  // namespace jali

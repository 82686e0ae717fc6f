// How much of each rectangle of pairs a block mask keeps: what pictures are drawn from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jali/block_mask.h"

namespace jali {

// The pairs of one cell.
struct CellPairs {
    int64_t kept = 0;
    int64_t in_full_tiles = 0;     // pairs of tile pairs in full runs; all of them kept
    int64_t in_partial_tiles = 0;  // pairs of tile pairs with a stencil, kept or not
    bool operator==(const CellPairs&) const = default;
};

// Cell (i, j), at position i * (kv_cuts.size() - 1) + j, holds query rows [q_cuts[i], q_cuts[i + 1]) and key rows
// [kv_cuts[j], kv_cuts[j + 1]). Cuts ascend strictly from 0 to the length; a length of 0 has the one cut 0.
// Exact. The cost is O(stencils + query tiles * cells across + runs * cells that they touch), not O(pairs).
std::vector<CellPairs> count_pairs(const BlockMask& mask, int64_t b, int64_t h, std::span<const int64_t> q_cuts,
                                   std::span<const int64_t> kv_cuts);

// 0, size, 2 * size, ..., length.
std::vector<int64_t> cuts_every(int64_t size, int64_t length);

}  // namespace jali

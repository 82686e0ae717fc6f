// What a BlockMask owns: the arrays of all its heads, concatenated.
#pragma once

#include <cstdint>
#include <vector>

#include "jali/block_mask.h"

namespace jali {

struct BlockMask::Data {
    int64_t batch = 1, heads = 1, q_len = 0, kv_len = 0;
    std::vector<Grid> grids;  // one a batch

    // One entry a (b, h), b major: where the head's part of the concatenated arrays begins.
    struct HeadStart {
        int64_t q_tiles = 0;   // in q_order; row_offsets have one entry more a head
        int64_t kv_tiles = 0;  // in kv_order
        int64_t row_offsets = 0;
        int64_t column_offsets = 0;
    };
    std::vector<HeadStart> starts;

    std::vector<int64_t> row_offsets;  // positions in runs
    std::vector<Run> runs;
    std::vector<Stencil> stencils;

    // Derived from the above by derive().
    std::vector<int64_t> column_offsets;  // positions in column_runs
    std::vector<Run> column_runs;
    std::vector<int32_t> ranks;
    std::vector<int32_t> q_order, kv_order;
    std::vector<Stencil> transposed_stencils;

    HeadView view(int64_t b, int64_t h) const;
};

// Fills the derived arrays of data whose row form obeys every invariant.
void derive(BlockMask::Data& data);

// BlockMask::assemble() for parts that are known to obey every invariant.
BlockMask finish(BlockMask::Parts parts);

}  // namespace jali

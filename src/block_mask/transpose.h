// Turning the row form of a block mask into its column form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jali/block_mask.h"

namespace jali {

Stencil transposed(const Stencil& stencil);

// The runs of query tiles of every key tile, from the runs of key tiles of every query tile (HeadView::row). Appends
// to `column_runs` and `column_offsets` (kv_tiles + 1 positions). Costs as much as there are runs of either kind.
struct RowRuns {
    std::span<const int64_t> offsets;  // q_tiles + 1 positions in runs
    std::span<const Run> runs;
    int64_t kv_tiles;
};
void transpose_runs(const RowRuns& rows, std::vector<int64_t>& column_offsets, std::vector<Run>& column_runs);

}  // namespace jali

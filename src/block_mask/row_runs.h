// Collects the runs of key tiles of each query tile of one (b, h), in the shortest form.
#pragma once

#include <cstdint>
#include <vector>

#include "block_mask/stencil_table.h"
#include "jali/block_mask.h"

namespace jali {

// How much runs and stencils may take together, and the runs that other heads already take of it.
struct RunLimit {
    int64_t bytes;
    int64_t runs_before;
};

class RowRunCollector {
   public:
    // Grid and stencils must outlive the collector. Passing the limit is a LimitError.
    RowRunCollector(const Grid& grid, StencilTable& stencils, RunLimit limit);

    // All pairs of query tiles [q_first, q_end) x key tiles [kv_first, kv_end) are kept. Short tiles get a stencil.
    void add_full(int32_t q_first, int32_t q_end, int32_t kv_first, int32_t kv_end);
    // The kept pairs of one tile pair, none outside its rows: nothing, full, or a stencil, as they turn out to be.
    void add_tile(int32_t q_tile, int32_t kv_tile, const Stencil& kept);
    // Calls for one query tile come in ascending key tiles.

    int64_t visited_tiles() const { return visited_tiles_; }
    // Those before included.
    int64_t runs() const { return runs_; }
    int64_t bytes() const;

    // Appends positions (relative to the first run appended) and runs.
    void append_to(std::vector<int64_t>& offsets, std::vector<Run>& runs) const;

   private:
    void push(int32_t q_tile, Run run);
    void check_limit() const;
    int32_t limit_stencil(int32_t rows, int32_t columns);
    void add_full_row(int32_t q_tile, int32_t kv_first, int32_t kv_end);

    const Grid& grid_;
    StencilTable& stencils_;
    int64_t byte_limit_;
    int64_t runs_;
    std::vector<std::vector<Run>> rows_;
    std::vector<int32_t> next_short_;  // for each key tile: the first short one from there on
    std::vector<int32_t> limit_stencils_;
    int64_t visited_tiles_ = 0;
};

}  // namespace jali

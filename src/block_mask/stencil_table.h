// Stencils, each stored once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "jali/block_mask.h"

namespace jali {

class StencilTable {
   public:
    // The index of a stencil equal to this one, added if there is none yet.
    int32_t add(const Stencil& stencil);

    const std::vector<Stencil>& stencils() const { return stencils_; }
    std::vector<Stencil> take() { return std::move(stencils_); }

   private:
    std::vector<Stencil> stencils_;
    std::unordered_multimap<uint64_t, int32_t> by_hash_;
};

// The pairs of a tile of `rows` x `columns`: what limits a short tile.
Stencil rectangle(int32_t rows, int32_t columns);

// The smallest rows and columns that hold all kept pairs.
struct Extent {
    int32_t rows = 0, columns = 0;
};
Extent extent_of(const Stencil& stencil);
int64_t pairs_in(const Stencil& stencil);

}  // namespace jali

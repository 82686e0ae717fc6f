#include "block_mask/stencil_table.h"

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace jali {

int32_t StencilTable::add(const Stencil& stencil) {
    const uint64_t hash = XXH3_64bits(stencil.words.data(), sizeof(stencil.words));
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto candidate = first; candidate != last; ++candidate) {
        if (stencils_[static_cast<size_t>(candidate->second)] == stencil) return candidate->second;
    }
    const auto index = static_cast<int32_t>(stencils_.size());
    stencils_.push_back(stencil);
    by_hash_.emplace(hash, index);
    return index;
}

Stencil rectangle(int32_t rows, int32_t columns) {
    Stencil stencil;
    const auto ones = [](int32_t count) {
        return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << std::max(count, 0)) - 1;
    };
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
        stencil.words[2 * row] = ones(columns);
        stencil.words[2 * row + 1] = ones(columns - 64);
    }
    return stencil;
}

Extent extent_of(const Stencil& stencil) {
    Extent extent;
    uint64_t left = 0, right = 0;
    for (int32_t row = 0; row < kTileRows; ++row) {
        const uint64_t low = stencil.words[static_cast<size_t>(2 * row)];
        const uint64_t high = stencil.words[static_cast<size_t>(2 * row + 1)];
        if ((low | high) != 0) extent.rows = row + 1;
        left |= low;
        right |= high;
    }
    extent.columns = static_cast<int32_t>(right != 0 ? 64 + std::bit_width(right) : std::bit_width(left));
    return extent;
}

int64_t pairs_in(const Stencil& stencil) {
    int64_t pairs = 0;
    for (const uint64_t word : stencil.words) pairs += std::popcount(word);
    return pairs;
}

}  // namespace jali

#include "block_mask/transpose.h"

#include <algorithm>
#include <array>

namespace jali {

namespace {

constexpr int32_t kEmpty = -2;  // beside kFull and stencil indices

using Square = std::array<uint64_t, 64>;

// Transposes 64 x 64 bits: swaps the off-diagonal halves of ever smaller squares (Warren, Hacker's Delight, 7-3).
void transpose_square(Square& rows) {
    uint64_t low_half = 0x00000000FFFFFFFFULL;
    for (size_t half = 32; half != 0; half /= 2, low_half ^= low_half << half) {
        for (size_t row = 0; row < 64; row = (row + half + 1) & ~half) {
            const uint64_t swapped = ((rows[row] >> half) ^ rows[row + half]) & low_half;
            rows[row] ^= swapped << half;
            rows[row + half] ^= swapped;
        }
    }
}

// The key tiles of one query tile as segments, one after another, gaps included.
class Segments {
   public:
    Segments(std::span<const Run> runs, int32_t tiles) : runs_(runs), tiles_(tiles) {}

    int32_t fate_at(int32_t tile) {
        while (next_ < runs_.size() && runs_[next_].first_tile + runs_[next_].tiles <= tile) ++next_;
        if (next_ == runs_.size() || tile < runs_[next_].first_tile) return kEmpty;
        return runs_[next_].stencil;
    }
    // Where the segment that holds `tile` ends; fate_at(tile) was just asked.
    int32_t end_after(int32_t tile) const {
        if (next_ == runs_.size()) return tiles_;
        return tile < runs_[next_].first_tile ? runs_[next_].first_tile : runs_[next_].first_tile + runs_[next_].tiles;
    }

   private:
    std::span<const Run> runs_;
    int32_t tiles_;
    size_t next_ = 0;
};

}  // namespace

Stencil transposed(const Stencil& stencil) {
    Stencil result;
    for (size_t row_half = 0; row_half < 2; ++row_half) {
        for (size_t column_half = 0; column_half < 2; ++column_half) {
            Square square;
            for (size_t row = 0; row < 64; ++row) square[row] = stencil.words[2 * (64 * row_half + row) + column_half];
            transpose_square(square);
            for (size_t row = 0; row < 64; ++row) result.words[2 * (64 * column_half + row) + row_half] = square[row];
        }
    }
    return result;
}

void transpose_runs(const RowRuns& rows, std::vector<int64_t>& column_offsets, std::vector<Run>& column_runs) {
    const auto q_tiles = static_cast<int32_t>(rows.offsets.size()) - 1;
    const auto kv_tiles = static_cast<int32_t>(rows.kv_tiles);
    const auto runs_of = [&](int32_t tile) {
        if (tile < 0 || tile >= q_tiles) return std::span<const Run>();
        const auto at = static_cast<size_t>(tile);
        return rows.runs.subspan(static_cast<size_t>(rows.offsets[at]),
                                 static_cast<size_t>(rows.offsets[at + 1] - rows.offsets[at]));
    };
    std::vector<std::vector<Run>> columns(static_cast<size_t>(kv_tiles));
    // Sweep down the query tiles; a column's run ends and begins only where neighbouring rows differ.
    for (int32_t q_tile = 0; q_tile <= q_tiles; ++q_tile) {
        Segments above(runs_of(q_tile - 1), kv_tiles), here(runs_of(q_tile), kv_tiles);
        for (int32_t kv_tile = 0; kv_tile < kv_tiles;) {
            const int32_t fate_above = above.fate_at(kv_tile), fate_here = here.fate_at(kv_tile);
            const int32_t end = std::min(above.end_after(kv_tile), here.end_after(kv_tile));
            if (fate_above != fate_here) {
                for (int32_t tile = kv_tile; tile < end; ++tile) {
                    std::vector<Run>& column = columns[static_cast<size_t>(tile)];
                    if (fate_above != kEmpty) column.back().tiles = q_tile - column.back().first_tile;
                    if (fate_here != kEmpty) column.push_back({q_tile, 0, fate_here});
                }
            }
            kv_tile = end;
        }
    }
    for (const std::vector<Run>& column : columns) {
        column_offsets.push_back(static_cast<int64_t>(column_runs.size()));
        column_runs.insert(column_runs.end(), column.begin(), column.end());
    }
    column_offsets.push_back(static_cast<int64_t>(column_runs.size()));
}

}  // namespace jali

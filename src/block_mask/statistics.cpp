// Counts over a block mask, from its runs and stencils.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "block_mask/stencil_table.h"
#include "jali/block_mask.h"
#include "jali/error.h"

namespace jali {

namespace {

// One bit a row of a stencil: does it keep anything?
using RowMask = std::array<uint64_t, 2>;

RowMask rows_kept(const Stencil& stencil) {
    RowMask rows{};
    for (size_t row = 0; row < static_cast<size_t>(kTileRows); ++row) {
        if ((stencil.words[2 * row] | stencil.words[2 * row + 1]) != 0) rows[row / 64] |= uint64_t{1} << (row % 64);
    }
    return rows;
}

std::vector<RowMask> rows_kept(std::span<const Stencil> stencils) {
    std::vector<RowMask> rows;
    rows.reserve(stencils.size());
    for (const Stencil& stencil : stencils) rows.push_back(rows_kept(stencil));
    return rows;
}

// Rows of all tiles that keep nothing, in one direction.
template <class RunsOf>
int64_t empty_lines(std::span<const Tile> tiles, const std::vector<RowMask>& kept_rows, const RunsOf& runs_of) {
    int64_t empty = 0;
    for (size_t tile = 0; tile < tiles.size(); ++tile) {
        RowMask kept{};
        bool all = false;
        for (const Run& run : runs_of(static_cast<int64_t>(tile))) {
            if (run.stencil == kFull) {
                all = true;
                break;
            }
            for (size_t i = 0; i < kept.size(); ++i) kept[i] |= kept_rows[static_cast<size_t>(run.stencil)][i];
        }
        if (!all) empty += tiles[tile].rows - std::popcount(kept[0]) - std::popcount(kept[1]);
    }
    return empty;
}

// Kept pairs of rows [row_begin, row_end) and columns [column_begin, column_end) of a stencil.
int64_t pairs_within(const Stencil& stencil, int32_t row_begin, int32_t row_end, int32_t column_begin,
                     int32_t column_end) {
    const Stencil until = rectangle(1, column_end), before = rectangle(1, column_begin);
    const uint64_t low = until.words[0] & ~before.words[0], high = until.words[1] & ~before.words[1];
    int64_t pairs = 0;
    for (auto row = static_cast<size_t>(row_begin); row < static_cast<size_t>(row_end); ++row) {
        pairs += std::popcount(stencil.words[2 * row] & low) + std::popcount(stencil.words[2 * row + 1] & high);
    }
    return pairs;
}

// Kept pairs of each aligned key tile over one aligned band of queries.
class AlignedBand {
   public:
    explicit AlignedBand(int64_t kv_len)
        : kept_(static_cast<size_t>((kv_len + kTileRows - 1) / kTileRows)), steps_(kept_.size() + 1) {
        clear();
    }

    void clear() {
        for (size_t tile = touched_begin_; tile < touched_end_; ++tile) kept_[tile] = steps_[tile] = 0;
        touched_begin_ = kept_.size();
        touched_end_ = 0;
    }

    // `rows` rows keep all keys [begin, end).
    void add_full(int64_t rows, int64_t begin, int64_t end) {
        const auto first = static_cast<size_t>(begin / kTileRows), last = static_cast<size_t>((end - 1) / kTileRows);
        touch(first, last);
        if (first == last) {
            kept_[first] += rows * (end - begin);
            return;
        }
        kept_[first] += rows * (static_cast<int64_t>(first + 1) * kTileRows - begin);
        kept_[last] += rows * (end - static_cast<int64_t>(last) * kTileRows);
        // Whole tiles in between by differences, so that a long run costs as much as a short one.
        steps_[first + 1] += rows * kTileRows;
        steps_[last] -= rows * kTileRows;
    }

    // Rows [row_begin, row_end) of a stencil on a key tile.
    void add_stencil(const Stencil& stencil, int32_t row_begin, int32_t row_end, const Tile& kv_tile) {
        for (int32_t column = 0; column < kv_tile.rows;) {
            const int64_t key = int64_t{kv_tile.begin} + column;
            const auto step =
                static_cast<int32_t>(std::min<int64_t>(kTileRows - key % kTileRows, kv_tile.rows - column));
            const auto tile = static_cast<size_t>(key / kTileRows);
            touch(tile, tile);
            kept_[tile] += pairs_within(stencil, row_begin, row_end, column, column + step);
            column += step;
        }
    }

    void count(int64_t rows, int64_t kv_len, TileCounts& counts) const {
        int64_t from_steps = 0;
        const size_t touched = touched_end_ > touched_begin_ ? touched_end_ - touched_begin_ : 0;
        counts.empty += static_cast<int64_t>(kept_.size() - touched);
        for (size_t tile = touched_begin_; tile < touched_end_; ++tile) {
            from_steps += steps_[tile];
            const int64_t kept = kept_[tile] + from_steps;
            const int64_t real = rows * std::min<int64_t>(kTileRows, kv_len - static_cast<int64_t>(tile) * kTileRows);
            (kept == 0 ? counts.empty : kept == real ? counts.full : counts.partial) += 1;
        }
    }

   private:
    void touch(size_t first, size_t last) {
        touched_begin_ = std::min(touched_begin_, first);
        touched_end_ = std::max(touched_end_, last + 1);
    }

    std::vector<int64_t> kept_;
    std::vector<int64_t> steps_;
    // Tiles [begin, end) hold anything but zeros.
    size_t touched_begin_ = 0, touched_end_ = 0;
};

void count_aligned(const BlockMask& mask, const HeadView& head, TileCounts& counts) {
    AlignedBand band(mask.kv_len());
    size_t tile = 0;
    for (int64_t begin = 0; begin < mask.q_len(); begin += kTileRows) {
        const int64_t end = std::min(begin + kTileRows, mask.q_len());
        band.clear();
        while (tile > 0 && head.q_tiles[tile].begin > begin) --tile;
        for (; tile < head.q_tiles.size() && head.q_tiles[tile].begin < end; ++tile) {
            const Tile& q_tile = head.q_tiles[tile];
            const auto row_begin = static_cast<int32_t>(std::max<int64_t>(begin - q_tile.begin, 0));
            const auto row_end = static_cast<int32_t>(std::min<int64_t>(end - q_tile.begin, q_tile.rows));
            if (row_begin >= row_end) continue;
            for (const Run& run : head.row(static_cast<int64_t>(tile))) {
                const Tile& first = head.kv_tiles[static_cast<size_t>(run.first_tile)];
                const Tile& last = head.kv_tiles[static_cast<size_t>(run.first_tile + run.tiles) - 1];
                if (run.stencil == kFull) {
                    band.add_full(row_end - row_begin, first.begin, int64_t{last.begin} + last.rows);
                    continue;
                }
                const Stencil& stencil = mask.stencils()[static_cast<size_t>(run.stencil)];
                for (int32_t at = run.first_tile; at < run.first_tile + run.tiles; ++at) {
                    band.add_stencil(stencil, row_begin, row_end, head.kv_tiles[static_cast<size_t>(at)]);
                }
            }
        }
        if (tile > 0) --tile;  // the last tile may reach into the next band
        band.count(end - begin, mask.kv_len(), counts);
    }
}

void add_head(const BlockMask& mask, const HeadView& head, const std::vector<int64_t>& stencil_pairs,
              MaskStatistics& result) {
    int64_t visited = 0;
    for (size_t tile = 0; tile < head.q_tiles.size(); ++tile) {
        for (const Run& run : head.row(static_cast<int64_t>(tile))) {
            visited += run.tiles;
            const bool full = run.stencil == kFull;
            (full ? result.tiles.full : result.tiles.partial) += run.tiles;
            result.useful_pairs += int64_t{run.tiles} * (full ? int64_t{kTileRows} * kTileRows
                                                              : stencil_pairs[static_cast<size_t>(run.stencil)]);
            ++result.runs;
        }
    }
    result.tiles.empty += static_cast<int64_t>(head.q_tiles.size() * head.kv_tiles.size()) - visited;
    result.computed_pairs += visited * kTileRows * kTileRows;
    count_aligned(mask, head, result.aligned_tiles);
}

void multiply(MaskStatistics& statistics, int64_t factor) {
    for (int64_t* count :
         {&statistics.useful_pairs, &statistics.computed_pairs, &statistics.empty_rows, &statistics.empty_columns,
          &statistics.tiles.full, &statistics.tiles.partial, &statistics.tiles.empty, &statistics.aligned_tiles.full,
          &statistics.aligned_tiles.partial, &statistics.aligned_tiles.empty}) {
        if (__builtin_mul_overflow(*count, factor, count)) {
            throw Error(fmt::format("the pairs of a block mask counted over {} heads do not fit in 64 bits", factor));
        }
    }
}

}  // namespace

MaskStatistics statistics(const BlockMask& mask) {
    return statistics(mask, mask.batch(), mask.heads());
}

MaskStatistics statistics(const BlockMask& mask, int64_t batch, int64_t heads) {
    if (batch < 1 || heads < 1 || (mask.batch() > 1 && mask.batch() != batch) ||
        (mask.heads() > 1 && mask.heads() != heads)) {
        throw Error(fmt::format("a block mask of {} batches and {} heads cannot be counted over {} and {}",
                                mask.batch(), mask.heads(), batch, heads));
    }
    MaskStatistics result;
    result.stencils = static_cast<int64_t>(mask.stencils().size());
    result.bytes = mask.bytes();
    std::vector<int64_t> stencil_pairs;
    for (const Stencil& stencil : mask.stencils()) stencil_pairs.push_back(pairs_in(stencil));
    const std::vector<RowMask> kept_rows = rows_kept(mask.stencils());
    const std::vector<RowMask> kept_columns = rows_kept(mask.transposed_stencils());
    for (int64_t b = 0; b < mask.batch(); ++b) {
        for (int64_t h = 0; h < mask.heads(); ++h) {
            const HeadView head = mask.head(b, h);
            add_head(mask, head, stencil_pairs, result);
            result.empty_rows += empty_lines(head.q_tiles, kept_rows, [&](int64_t tile) { return head.row(tile); });
            result.empty_columns +=
                empty_lines(head.kv_tiles, kept_columns, [&](int64_t tile) { return head.column(tile); });
        }
    }
    multiply(result, mask.batch() == 1 ? batch : 1);
    multiply(result, mask.heads() == 1 ? heads : 1);
    return result;
}

}  // namespace jali

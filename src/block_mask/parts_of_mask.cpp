// Parts of a block mask: some batches and heads, or shorter lengths.
#include <fmt/format.h>

#include <algorithm>

#include "block_mask/data.h"
#include "block_mask/row_runs.h"
#include "block_mask/stencil_table.h"
#include "jali/error.h"

namespace jali {

namespace {

struct IndexRange {
    int64_t begin, end;
};

// The own indices of a dimension that a range selects: the only one where the dimension is broadcast.
IndexRange own_range(const char* what, IndexRange asked, int64_t count) {
    if (asked.begin < 0 || asked.begin >= asked.end || (count > 1 && asked.end > count)) {
        throw Error(
            fmt::format("{} {} to {} are asked of a block mask that has {}", what, asked.begin, asked.end, count));
    }
    return count == 1 ? IndexRange{0, 1} : asked;
}

std::vector<Tile> cropped_tiles(const std::vector<Tile>& tiles, int64_t length) {
    std::vector<Tile> kept;
    for (Tile tile : tiles) {
        if (tile.begin >= length) break;
        tile.rows = static_cast<int32_t>(std::min<int64_t>(tile.rows, length - tile.begin));
        kept.push_back(tile);
    }
    return kept;
}

Stencil within(const Stencil& stencil, int32_t rows, int32_t columns) {
    Stencil result = rectangle(rows, columns);
    for (size_t i = 0; i < result.words.size(); ++i) result.words[i] &= stencil.words[i];
    return result;
}

}  // namespace

BlockMask slice(const BlockMask& mask, int64_t b_begin, int64_t b_end, int64_t h_begin, int64_t h_end) {
    const IndexRange batches = own_range("batches", {b_begin, b_end}, mask.batch());
    const IndexRange heads = own_range("heads", {h_begin, h_end}, mask.heads());
    BlockMask::Parts parts;
    parts.batch = batches.end - batches.begin;
    parts.heads = heads.end - heads.begin;
    parts.q_len = mask.q_len();
    parts.kv_len = mask.kv_len();
    StencilTable stencils;
    for (int64_t b = batches.begin; b < batches.end; ++b) {
        parts.grids.push_back(mask.grid(b));
        for (int64_t h = heads.begin; h < heads.end; ++h) {
            const HeadView head = mask.head(b, h);
            std::vector<int64_t>& offsets = parts.row_offsets.emplace_back();
            for (const int64_t offset : head.row_offsets) offsets.push_back(offset - head.row_offsets.front());
            const auto first = head.runs.begin() + head.row_offsets.front();
            std::vector<Run>& runs = parts.runs.emplace_back(first, head.runs.begin() + head.row_offsets.back());
            for (Run& run : runs) {
                if (run.stencil == kFull) continue;
                run.stencil = stencils.add(mask.stencils()[static_cast<size_t>(run.stencil)]);
            }
        }
    }
    parts.stencils = stencils.take();
    return finish(std::move(parts));
}

BlockMask crop(const BlockMask& mask, int64_t q_len, int64_t kv_len) {
    if (q_len < 0 || kv_len < 0 || q_len > mask.q_len() || kv_len > mask.kv_len()) {
        throw Error(fmt::format("a block mask of {} queries and {} keys cannot be cropped to {} and {}", mask.q_len(),
                                mask.kv_len(), q_len, kv_len));
    }
    BlockMask::Parts parts;
    parts.batch = mask.batch();
    parts.heads = mask.heads();
    parts.q_len = q_len;
    parts.kv_len = kv_len;
    StencilTable stencils;
    for (int64_t b = 0; b < mask.batch(); ++b) {
        const Grid& whole = mask.grid(b);
        const Grid& grid =
            parts.grids.emplace_back(Grid{cropped_tiles(whole.q_tiles, q_len), cropped_tiles(whole.kv_tiles, kv_len)});
        const auto kv_tiles = static_cast<int32_t>(grid.kv_tiles.size());
        for (int64_t h = 0; h < mask.heads(); ++h) {
            const HeadView head = mask.head(b, h);
            // A part of a mask is never larger than the mask: no limit.
            RowRunCollector rows(grid, stencils, {.bytes = INT64_MAX, .runs_before = 0});
            for (int32_t q_tile = 0; q_tile < static_cast<int32_t>(grid.q_tiles.size()); ++q_tile) {
                const int32_t q_rows = grid.q_tiles[static_cast<size_t>(q_tile)].rows;
                for (const Run& run : head.row(q_tile)) {
                    const int32_t end = std::min(run.first_tile + run.tiles, kv_tiles);
                    if (run.stencil == kFull) {
                        if (run.first_tile < end) rows.add_full(q_tile, q_tile + 1, run.first_tile, end);
                        continue;
                    }
                    const Stencil& stencil = mask.stencils()[static_cast<size_t>(run.stencil)];
                    for (int32_t tile = run.first_tile; tile < end; ++tile) {
                        rows.add_tile(q_tile, tile,
                                      within(stencil, q_rows, grid.kv_tiles[static_cast<size_t>(tile)].rows));
                    }
                }
            }
            rows.append_to(parts.row_offsets.emplace_back(), parts.runs.emplace_back());
        }
    }
    parts.stencils = stencils.take();
    return finish(std::move(parts));
}

}  // namespace jali

// Single rows and columns of a block mask as bytes.
#include <fmt/format.h>

#include <algorithm>

#include "jali/block_mask.h"
#include "jali/error.h"

namespace jali {

namespace {

size_t tile_holding(std::span<const Tile> tiles, int64_t position) {
    const auto after = std::upper_bound(tiles.begin(), tiles.end(), position,
                                        [](int64_t at, const Tile& tile) { return at < tile.begin; });
    return static_cast<size_t>(after - tiles.begin()) - 1;
}

// One line of pairs: line `position` of `lines`, whose runs go over `across`.
struct Line {
    std::span<const Tile> across;
    std::span<const Run> runs;
    std::span<const Stencil> stencils;
    int32_t row_in_tile;
};

void write_line(const Line& line, std::span<uint8_t> bytes) {
    std::fill(bytes.begin(), bytes.end(), uint8_t{0});
    for (const Run& run : line.runs) {
        for (int32_t at = run.first_tile; at < run.first_tile + run.tiles; ++at) {
            const Tile& tile = line.across[static_cast<size_t>(at)];
            for (int32_t i = 0; i < tile.rows; ++i) {
                const bool kept =
                    run.stencil == kFull || line.stencils[static_cast<size_t>(run.stencil)].bit(line.row_in_tile, i);
                bytes[static_cast<size_t>(tile.begin + i)] = kept ? 1 : 0;
            }
        }
    }
}

void check_line(const char* side, int64_t position, int64_t length, size_t bytes, int64_t expected_bytes) {
    if (position < 0 || position >= length) {
        throw Error(fmt::format("{} {} is asked of a block mask of {}", side, position, length));
    }
    if (static_cast<int64_t>(bytes) != expected_bytes) {
        throw Error(fmt::format("{} bytes are given for {} pairs", bytes, expected_bytes));
    }
}

}  // namespace

void dense_row(const BlockMask& mask, int64_t b, int64_t h, int64_t q, std::span<uint8_t> row) {
    check_line("query", q, mask.q_len(), row.size(), mask.kv_len());
    const HeadView head = mask.head(b, h);
    const size_t tile = tile_holding(head.q_tiles, q);
    write_line({head.kv_tiles, head.row(static_cast<int64_t>(tile)), mask.stencils(),
                static_cast<int32_t>(q - head.q_tiles[tile].begin)},
               row);
}

void dense_column(const BlockMask& mask, int64_t b, int64_t h, int64_t kv, std::span<uint8_t> column) {
    check_line("key", kv, mask.kv_len(), column.size(), mask.q_len());
    const HeadView head = mask.head(b, h);
    const size_t tile = tile_holding(head.kv_tiles, kv);
    write_line({head.q_tiles, head.column(static_cast<int64_t>(tile)), mask.transposed_stencils(),
                static_cast<int32_t>(kv - head.kv_tiles[tile].begin)},
               column);
}

}  // namespace jali

// Block masks made pair by pair, without the builder: an independent right answer for small sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "jali/block_mask.h"

namespace jali::test {

// Tiles of one side from their lengths.
inline std::vector<Tile> tiles_of_lengths(std::span<const int32_t> lengths) {
    std::vector<Tile> tiles;
    int32_t begin = 0;
    for (const int32_t length : lengths) {
        tiles.push_back({begin, length});
        begin += length;
    }
    return tiles;
}

// Every 128 rows.
inline std::vector<Tile> aligned_tiles(int64_t length) {
    std::vector<int32_t> lengths;
    for (; length > 0; length -= kTileRows)
        lengths.push_back(static_cast<int32_t>(std::min<int64_t>(length, kTileRows)));
    return tiles_of_lengths(lengths);
}

// Every 128 rows of each document.
inline std::vector<Tile> document_tiles(std::span<const int32_t> documents) {
    std::vector<int32_t> lengths;
    for (int32_t left : documents) {
        for (; left > 0; left -= kTileRows) lengths.push_back(std::min(left, kTileRows));
    }
    return tiles_of_lengths(lengths);
}

using Keep = std::function<bool(int64_t b, int64_t h, int64_t q, int64_t kv)>;

struct Fate {
    bool empty = true;
    bool full = true;  // a short tile never is
    Stencil stencil;
};

inline Fate fate_of(const Keep& keep, int64_t b, int64_t h, const Tile& queries, const Tile& keys) {
    Fate fate;
    fate.full = queries.rows == kTileRows && keys.rows == kTileRows;
    for (int32_t row = 0; row < queries.rows; ++row) {
        for (int32_t column = 0; column < keys.rows; ++column) {
            if (keep(b, h, queries.begin + row, keys.begin + column)) {
                fate.empty = false;
                fate.stencil.words[static_cast<size_t>(2 * row + column / 64)] |= uint64_t{1} << (column % 64);
            } else {
                fate.full = false;
            }
        }
    }
    return fate;
}

inline int64_t length_of(std::span<const Tile> tiles) {
    return tiles.empty() ? 0 : int64_t{tiles.back().begin} + tiles.back().rows;
}

// All batches have the same grid.
inline BlockMask::Parts parts_from_bits(const Grid& grid, const Keep& keep, int64_t batch = 1, int64_t heads = 1) {
    BlockMask::Parts parts;
    parts.batch = batch;
    parts.heads = heads;
    parts.q_len = length_of(grid.q_tiles);
    parts.kv_len = length_of(grid.kv_tiles);
    parts.grids.assign(static_cast<size_t>(batch), grid);
    std::map<std::array<uint64_t, 2 * kTileRows>, int32_t> known;
    for (int64_t head = 0; head < batch * heads; ++head) {
        std::vector<int64_t>& offsets = parts.row_offsets.emplace_back();
        std::vector<Run>& runs = parts.runs.emplace_back();
        offsets.push_back(0);
        for (const Tile& queries : grid.q_tiles) {
            for (size_t tile = 0; tile < grid.kv_tiles.size(); ++tile) {
                const Fate fate = fate_of(keep, head / heads, head % heads, queries, grid.kv_tiles[tile]);
                if (fate.empty) continue;
                int32_t stencil = kFull;
                if (!fate.full) {
                    const auto [entry, is_new] =
                        known.try_emplace(fate.stencil.words, static_cast<int32_t>(parts.stencils.size()));
                    if (is_new) parts.stencils.push_back(fate.stencil);
                    stencil = entry->second;
                }
                const auto first = static_cast<int32_t>(tile);
                const bool same_row = static_cast<int64_t>(runs.size()) > offsets.back();
                if (same_row && runs.back().stencil == stencil && runs.back().first_tile + runs.back().tiles == first) {
                    ++runs.back().tiles;
                } else {
                    runs.push_back({first, 1, stencil});
                }
            }
            offsets.push_back(static_cast<int64_t>(runs.size()));
        }
    }
    return parts;
}

inline BlockMask mask_from_bits(const Grid& grid, const Keep& keep, int64_t batch = 1, int64_t heads = 1) {
    return BlockMask::assemble(parts_from_bits(grid, keep, batch, heads));
}

}  // namespace jali::test

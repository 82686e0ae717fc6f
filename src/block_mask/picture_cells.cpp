#include "block_mask/picture_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "block_mask/coverage.h"

namespace jali {
namespace {

// Cuts of one side: every tile in parts of at most `size` rows, or, where `size` is more than a tile has, as many
// whole tiles to a part as fit.
std::vector<int64_t> cuts_of(std::span<const Tile> tiles, int64_t size) {
    std::vector<int64_t> cuts{0};
    for (const Tile& tile : tiles) {
        const int64_t end = int64_t{tile.begin} + tile.rows;
        if (size < kTileRows) {
            for (int64_t position = tile.begin + size; position < end; position += size) cuts.push_back(position);
            cuts.push_back(end);
        } else if (cuts.size() > 1 && end - cuts[cuts.size() - 2] <= size) {
            cuts.back() = end;
        } else {
            cuts.push_back(end);
        }
    }
    return cuts;
}

struct Side {
    int64_t size;
    std::vector<int64_t> cuts;
};

// Parts are powers of two; ones below length / most_cells would be too many.
Side finest(std::span<const Tile> tiles, int64_t length, int64_t most_cells) {
    Side side{1, {}};
    while (side.size < length / most_cells) side.size *= 2;
    side.cuts = cuts_of(tiles, side.size);
    while (static_cast<int64_t>(side.cuts.size()) - 1 > most_cells) {
        side.size *= 2;
        side.cuts = cuts_of(tiles, side.size);
    }
    return side;
}

bool merges_tiles(const Side& side, std::span<const Tile> tiles) {
    return side.size >= kTileRows && side.cuts.size() - 1 < tiles.size();
}

int64_t largest_step(std::span<const int64_t> cuts) {
    int64_t largest = 0;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) largest = std::max(largest, cuts[i + 1] - cuts[i]);
    return largest;
}

Shade shade_of(const CellPairs& cell, int64_t pairs) {
    if (cell.in_full_tiles + cell.in_partial_tiles == 0) return Shade::kEmpty;
    if (cell.kept == pairs) return cell.in_full_tiles >= cell.in_partial_tiles ? Shade::kFullTiles : Shade::kAll;
    if (cell.kept == 0) return Shade::kNone;
    const double share = static_cast<double>(cell.kept) / static_cast<double>(pairs);
    return share < 1.0 / 3 ? Shade::kLow : share < 2.0 / 3 ? Shade::kMiddle : Shade::kHigh;
}

// Edges that leave a corner, one bit each, with the inside to the right of their direction.
enum Direction : uint8_t { kRight, kDown, kLeft, kUp };

struct Corner {
    size_t i, j;
};

Corner step(Corner corner, Direction direction) {
    switch (direction) {
        case kRight:
            return {corner.i, corner.j + 1};
        case kDown:
            return {corner.i + 1, corner.j};
        case kLeft:
            return {corner.i, corner.j - 1};
        default:
            return {corner.i - 1, corner.j};
    }
}

// By corner, row-major.
std::vector<uint8_t> edges_of(std::span<const uint8_t> inside, size_t down, size_t across) {
    std::vector<uint8_t> edges((down + 1) * (across + 1));
    const auto marked = [&](size_t i, size_t j) { return i < down && j < across && inside[i * across + j] != 0; };
    const auto leave = [&](size_t i, size_t j, Direction direction) {
        edges[i * (across + 1) + j] = static_cast<uint8_t>(edges[i * (across + 1) + j] | 1U << direction);
    };
    for (size_t i = 0; i < down; ++i) {
        for (size_t j = 0; j < across; ++j) {
            if (!marked(i, j)) continue;
            // Unsigned wrap puts row and column -1 out of range as well.
            if (!marked(i - 1, j)) leave(i, j, kRight);
            if (!marked(i, j + 1)) leave(i, j + 1, kDown);
            if (!marked(i + 1, j)) leave(i + 1, j + 1, kLeft);
            if (!marked(i, j - 1)) leave(i + 1, j, kUp);
        }
    }
    return edges;
}

}  // namespace

PictureCells picture_cells(const BlockMask& mask, int64_t b, int64_t h, int64_t down, int64_t across) {
    const HeadView view = mask.head(b, h);
    Side queries = finest(view.q_tiles, mask.q_len(), down), keys = finest(view.kv_tiles, mask.kv_len(), across);
    PictureCells cells;
    cells.merged = merges_tiles(queries, view.q_tiles) || merges_tiles(keys, view.kv_tiles);
    cells.q_cuts = std::move(queries.cuts);
    cells.kv_cuts = std::move(keys.cuts);
    cells.largest_q = largest_step(cells.q_cuts);
    cells.largest_kv = largest_step(cells.kv_cuts);
    const std::vector<CellPairs> counts = count_pairs(mask, b, h, cells.q_cuts, cells.kv_cuts);
    for (size_t i = 0; i < cells.down(); ++i) {
        for (size_t j = 0; j < cells.across(); ++j) {
            const int64_t pairs = (cells.q_cuts[i + 1] - cells.q_cuts[i]) * (cells.kv_cuts[j + 1] - cells.kv_cuts[j]);
            cells.shades.push_back(shade_of(counts[i * cells.across() + j], pairs));
        }
    }
    return cells;
}

std::string outline(std::span<const uint8_t> inside, std::span<const int64_t> ys, std::span<const int64_t> xs) {
    const size_t down = ys.size() - 1, across = xs.size() - 1;
    std::vector<uint8_t> edges = edges_of(inside, down, across);
    std::string path;
    for (size_t start = 0; start < edges.size(); ++start) {
        // The first corner of a loop in reading order is one where it turns, so no edge is split by the start.
        while (edges[start] != 0) {
            Corner corner{start / (across + 1), start % (across + 1)};
            path += fmt::format("M{} {}", xs[corner.j], ys[corner.i]);
            Direction direction = kUp;
            bool first = true;
            while (true) {
                uint8_t& leaving = edges[corner.i * (across + 1) + corner.j];
                if (leaving == 0) break;  // back at the start; the last edge is drawn by closing
                const bool straight = !first && (leaving >> direction & 1) != 0;
                if (!straight) {
                    if (!first) {
                        path += direction == kRight || direction == kLeft ? fmt::format("H{}", xs[corner.j])
                                                                          : fmt::format("V{}", ys[corner.i]);
                    }
                    direction = static_cast<Direction>(std::countr_zero(leaving));
                }
                leaving = static_cast<uint8_t>(leaving & ~(1U << direction));
                corner = step(corner, direction);
                first = false;
            }
            path += 'z';
        }
    }
    return path;
}

}  // namespace jali

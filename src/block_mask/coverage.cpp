#include "block_mask/coverage.h"

#include <algorithm>
#include <bit>

namespace jali {
namespace {

struct Range {
    int32_t begin, end;
};

// The part of a tile inside a cell, counted from the tile's first row; empty where they do not meet.
Range inside(const Tile& tile, int64_t cell_begin, int64_t cell_end) {
    const auto clip = [&](int64_t position) {
        return static_cast<int32_t>(std::clamp<int64_t>(position - tile.begin, 0, tile.rows));
    };
    return {clip(cell_begin), clip(cell_end)};
}

// Bits [begin, end) of a word of a stencil's row whose columns start at `first`.
uint64_t word_mask(Range columns, int32_t first) {
    const auto below = [&](int32_t column) {
        const int32_t bits = std::clamp(column - first, 0, 64);
        return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    };
    return below(columns.end) & ~below(columns.begin);
}

int64_t kept_inside(const Stencil& stencil, Range rows, Range columns) {
    const uint64_t low = word_mask(columns, 0), high = word_mask(columns, 64);
    int64_t kept = 0;
    for (int32_t row = rows.begin; row < rows.end; ++row) {
        const auto word = static_cast<size_t>(2 * row);
        kept += std::popcount(stencil.words[word] & low) + std::popcount(stencil.words[word + 1] & high);
    }
    return kept;
}

// Which tiles and cells of one side meet.
struct Crossing {
    std::vector<int64_t> cuts;
    std::vector<Tile> tiles;
    std::vector<int64_t> first_cell;  // by tile: the cell that holds its first row
    std::vector<int64_t> whole_end;   // by cell: the first tile that ends after it

    int64_t cells() const { return static_cast<int64_t>(cuts.size()) - 1; }
};

Crossing cross(std::span<const Tile> tiles, std::span<const int64_t> cuts) {
    Crossing crossing{{cuts.begin(), cuts.end()}, {tiles.begin(), tiles.end()}, {}, {}};
    int64_t cell = 0;
    for (const Tile& tile : tiles) {
        while (cuts[static_cast<size_t>(cell) + 1] <= tile.begin) ++cell;
        crossing.first_cell.push_back(cell);
    }
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        const auto ends_by = [](const Tile& tile, int64_t position) {
            return int64_t{tile.begin} + tile.rows <= position;
        };
        crossing.whole_end.push_back(std::lower_bound(tiles.begin(), tiles.end(), cuts[i + 1], ends_by) -
                                     tiles.begin());
    }
    return crossing;
}

// One query tile's rows inside one row of cells, along the keys.
struct Strip {
    const Crossing& keys;
    std::span<const int64_t> kept_by_stencil;
    Range rows;       // of the query tile
    bool whole_tile;  // rows are all of the tile's
    std::span<CellPairs> cells;
};

int64_t rows_of(const Strip& strip) {
    return strip.rows.end - strip.rows.begin;
}

void add_full_run(const Strip& strip, int64_t key_begin, int64_t key_end, int64_t cell) {
    const std::vector<int64_t>& cuts = strip.keys.cuts;
    for (; cell < strip.keys.cells() && cuts[static_cast<size_t>(cell)] < key_end; ++cell) {
        const auto c = static_cast<size_t>(cell);
        const int64_t pairs = rows_of(strip) * (std::min(key_end, cuts[c + 1]) - std::max(key_begin, cuts[c]));
        strip.cells[c].kept += pairs;
        strip.cells[c].in_full_tiles += pairs;
    }
}

// Every key tile of the run, cell by cell: those inside a cell at once, those that a cut divides one by one.
void add_stencil_run(const Strip& strip, const Run& run, const Stencil& stencil) {
    const Crossing& keys = strip.keys;
    const auto end_of_tile = [&](int64_t tile) {
        const Tile& t = keys.tiles[static_cast<size_t>(tile)];
        return int64_t{t.begin} + t.rows;
    };
    const int64_t first = run.first_tile, last = first + run.tiles;
    const int64_t key_begin = keys.tiles[static_cast<size_t>(first)].begin, key_end = end_of_tile(last - 1);
    const int64_t whole = strip.whole_tile ? strip.kept_by_stencil[static_cast<size_t>(run.stencil)]
                                           : kept_inside(stencil, strip.rows, {0, kTileRows});
    int64_t tile = first;  // the first that reaches into the cell
    for (int64_t cell = keys.first_cell[static_cast<size_t>(first)];
         cell < keys.cells() && keys.cuts[static_cast<size_t>(cell)] < key_end; ++cell) {
        const auto c = static_cast<size_t>(cell);
        const int64_t cell_begin = keys.cuts[c], cell_end = keys.cuts[c + 1];
        CellPairs& pairs = strip.cells[c];
        pairs.in_partial_tiles += rows_of(strip) * (std::min(key_end, cell_end) - std::max(key_begin, cell_begin));

        while (tile < last && keys.tiles[static_cast<size_t>(tile)].begin < cell_end) {
            const Range columns = inside(keys.tiles[static_cast<size_t>(tile)], cell_begin, cell_end);
            if (columns.end - columns.begin == keys.tiles[static_cast<size_t>(tile)].rows) {
                const int64_t whole_end = std::min(keys.whole_end[c], last);
                pairs.kept += whole * (whole_end - tile);
                tile = whole_end;
            } else {
                pairs.kept += kept_inside(stencil, strip.rows, columns);
                if (end_of_tile(tile) > cell_end) break;  // it reaches into the next cell too
                ++tile;
            }
        }
    }
}

}  // namespace

std::vector<CellPairs> count_pairs(const BlockMask& mask, int64_t b, int64_t h, std::span<const int64_t> q_cuts,
                                   std::span<const int64_t> kv_cuts) {
    const HeadView view = mask.head(b, h);
    const Crossing queries = cross(view.q_tiles, q_cuts), keys = cross(view.kv_tiles, kv_cuts);
    std::vector<int64_t> kept_by_stencil;
    for (const Stencil& stencil : mask.stencils()) {
        kept_by_stencil.push_back(kept_inside(stencil, {0, kTileRows}, {0, kTileRows}));
    }

    const auto across = static_cast<size_t>(keys.cells());
    std::vector<CellPairs> cells(static_cast<size_t>(queries.cells()) * across);
    for (size_t q_tile = 0; q_tile < queries.tiles.size(); ++q_tile) {
        const Tile& tile = queries.tiles[q_tile];
        const int64_t end = int64_t{tile.begin} + tile.rows;
        for (auto i = static_cast<size_t>(queries.first_cell[q_tile]); i + 1 < q_cuts.size() && q_cuts[i] < end; ++i) {
            const Range rows = inside(tile, q_cuts[i], q_cuts[i + 1]);
            const Strip strip{keys, kept_by_stencil, rows, rows.end - rows.begin == tile.rows,
                              std::span(cells).subspan(i * across, across)};
            for (const Run& run : view.row(static_cast<int64_t>(q_tile))) {
                const auto first = static_cast<size_t>(run.first_tile);
                if (run.stencil == kFull) {
                    const Tile& last = keys.tiles[first + static_cast<size_t>(run.tiles) - 1];
                    add_full_run(strip, keys.tiles[first].begin, int64_t{last.begin} + last.rows,
                                 keys.first_cell[first]);
                } else {
                    add_stencil_run(strip, run, mask.stencils()[static_cast<size_t>(run.stencil)]);
                }
            }
        }
    }
    return cells;
}

std::vector<int64_t> cuts_every(int64_t size, int64_t length) {
    std::vector<int64_t> cuts;
    for (int64_t position = 0; position < length; position += size) cuts.push_back(position);
    cuts.push_back(length);
    return cuts;
}

}  // namespace jali

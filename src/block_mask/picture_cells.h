// What an SVG picture shows: cells of pairs, each with one shade, and the outlines of equal shades.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jali/block_mask.h"

namespace jali {

// In the order of painting: each shade lies on those before it, so that no background shows between neighbours.
enum class Shade : uint8_t {
    kEmpty,      // no tile pair is visited
    kNone,       // partial tiles, no pair kept
    kLow,        // below a third
    kMiddle,     // below two thirds
    kHigh,       // below all
    kAll,        // partial tiles, every pair kept
    kFullTiles,  // full tiles; or tiles of both fates, mostly full, every pair kept
};
inline constexpr int kShades = 7;

// Cells never cross a tile's edge: each lies in one tile pair, or is made of whole ones.
struct PictureCells {
    std::vector<int64_t> q_cuts, kv_cuts;
    int64_t largest_q = 0, largest_kv = 0;  // rows of the largest cell
    bool merged = false;                    // some cell holds more than one tile pair
    std::vector<Shade> shades;              // row-major

    size_t down() const { return q_cuts.size() - 1; }
    size_t across() const { return kv_cuts.size() - 1; }
};

// The finest cells of which there are at most `down` x `across`.
PictureCells picture_cells(const BlockMask& mask, int64_t b, int64_t h, int64_t down, int64_t across);

// The outline of the cells that `inside` marks, as SVG path data for the rule evenodd. Corner (i, j) of the cells is
// drawn at (xs[j], ys[i]).
std::string outline(std::span<const uint8_t> inside, std::span<const int64_t> ys, std::span<const int64_t> xs);

}  // namespace jali

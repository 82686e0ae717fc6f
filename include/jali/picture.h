// Pictures of a block mask: shading for a terminal, SVG for a paper.
#pragma once

#include <cstdint>
#include <string>

#include "jali/block_mask.h"

namespace jali {

struct PictureOptions {
    int64_t b = 0, h = 0;
    int columns = 64;        // cells across at most (terminal); rows follow the mask's shape
    std::string title = {};  // the numbers are added to it
};

// One character cell a group of pairs: blank where none is kept, light to full shading by the kept share. A cell is
// shown full only when all its pairs are kept and blank only when none is, however much the mask is downsampled.
std::string terminal_picture(const BlockMask& mask, const PictureOptions& options = {});

// A stand-alone SVG document: axes in tokens, grid lines of an anchored grid, full, partial and empty tiles in three
// colours (partial ones with their own pixels where there is room), a title with pairs, tiles and the kept share.
std::string svg_picture(const BlockMask& mask, const PictureOptions& options = {});

}  // namespace jali

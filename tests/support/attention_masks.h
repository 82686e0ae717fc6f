// Masks for engine tests, made pair by pair: they need no builder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "block_mask/parts_from_bits.h"

namespace jali::test {

struct NamedKeep {
    std::string name;
    Keep keep;
    bool uses_head = false;  // of the batch or the head
};

// Full, causal, window, scattered pairs by head, the diagonal, only far keys, nothing, and one of empty tiles, rows
// and columns in turn.
std::vector<NamedKeep> engine_masks();

// Tiles of uneven lengths, 128 among them: an anchored grid.
std::vector<Tile> uneven_tiles(int64_t length);

enum class GridKind : uint8_t { kAligned, kUneven };
BlockMask engine_mask(const NamedKeep& mask, GridKind grid, int64_t batch, int64_t heads, int64_t q_len,
                      int64_t kv_len);

}  // namespace jali::test

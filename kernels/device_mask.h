// A block mask as the GPU engines read it: arrays on the device, shared by host and device code.
#pragma once

#include <cstdint>

namespace jali {

struct DeviceTile {
    int32_t begin, rows;
};
struct DeviceRun {
    int32_t first_tile, tiles, stencil;  // stencil: -1 full
};

// Batches one after another; `q_tile_begin[b]` is the first query tile of batch b, and so on, with an end entry.
// Of (b, h): query order at heads * q_tile_begin[b] + h * q_tiles(b), row offsets at
// heads * (q_tile_begin[b] + b) + h * (q_tiles(b) + 1).
struct DeviceMask {
    int32_t batch, heads;          // the mask's own; 1: broadcast
    const int32_t* q_tile_begin;   // batch + 1
    const int32_t* kv_tile_begin;  // batch + 1
    const DeviceTile* q_tiles;
    const DeviceTile* kv_tiles;
    const int32_t* q_order;
    const int32_t* kv_order;
    const int32_t* row_offsets;     // positions in runs
    const int32_t* column_offsets;  // positions in column_runs; laid out like row_offsets, by key tile
    const DeviceRun* runs;
    const DeviceRun* column_runs;
    // In the order of a warp group's score fragments: stencil s, rows 64 g to 64 g + 63, thread t of the group:
    // words[(2 s + g) * 128 + t] = bits of rows 16 (t / 32) + t / 4 % 8 and that + 8; bit 2 j + e is column
    // 8 j + 2 (t % 4) + e.
    const uint64_t* stencil_words;
    // The same of the transposed scores that a group of the backward has, 64 keys by 64 queries: stencil s, queries
    // 64 i to 64 i + 63, keys 64 g to 64 g + 63, thread t: transposed_words[((2 s + i) * 2 + g) * 128 + t], bit
    // 4 j + 2 r + e is key 16 (t / 32) + t / 4 % 8 + 8 r, query 8 j + 2 (t % 4) + e.
    const uint32_t* transposed_words;
};

}  // namespace jali

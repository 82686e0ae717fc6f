#include "attention/cuda/flat_mask.h"

#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "jali/error.h"

namespace jali::cuda {

namespace {

constexpr size_t kAlignment = 16;

int32_t index_of(size_t value) {
    if (value > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        throw LimitError("the block mask has " + std::to_string(value) + " entries of a kind; a GPU takes 2147483647");
    return static_cast<int32_t>(value);
}

template <typename T>
const T* append(std::vector<uint8_t>& bytes, const std::vector<T>& values) {
    bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
    const size_t offset = bytes.size();
    bytes.resize(offset + values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes.data() + offset, values.data(), values.size() * sizeof(T));
    return reinterpret_cast<const T*>(offset);
}

// Bits of one stencil row for a thread: columns 8 j + 2 (thread % 4) + e -> bit 2 j + e.
uint32_t fragment_bits(const Stencil& stencil, int32_t row, int32_t thread) {
    uint32_t bits = 0;
    for (int32_t half = 0; half < 2; ++half) {
        const uint64_t word = stencil.words[static_cast<size_t>(2 * row + half)];
        for (int32_t j = 0; j < 8; ++j)
            bits |= static_cast<uint32_t>(word >> (8 * j + 2 * (thread % 4)) & 3) << (2 * (8 * half + j));
    }
    return bits;
}

std::vector<uint64_t> fragment_words(std::span<const Stencil> stencils) {
    std::vector<uint64_t> words;
    words.reserve(stencils.size() * 256);
    for (const Stencil& stencil : stencils)
        for (int32_t group = 0; group < 2; ++group)
            for (int32_t thread = 0; thread < 128; ++thread) {
                const int32_t row = 64 * group + 16 * (thread / 32) + thread / 4 % 8;
                words.push_back(fragment_bits(stencil, row, thread) | uint64_t{fragment_bits(stencil, row + 8, thread)}
                                                                          << 32);
            }
    return words;
}

// Bits of queries 64 half to 64 half + 63 for keys `key` and `key` + 8: query 8 j + 2 (thread % 4) + e -> bit
// 4 j + 2 r + e.
uint32_t transposed_fragment_bits(const Stencil& transposed, int32_t key, int32_t half, int32_t thread) {
    uint32_t bits = 0;
    for (int32_t r = 0; r < 2; ++r) {
        const uint64_t word = transposed.words[static_cast<size_t>(2 * (key + 8 * r) + half)];
        for (int32_t j = 0; j < 8; ++j)
            bits |= static_cast<uint32_t>(word >> (8 * j + 2 * (thread % 4)) & 3) << (4 * j + 2 * r);
    }
    return bits;
}

std::vector<uint32_t> transposed_fragment_words(std::span<const Stencil> transposed) {
    std::vector<uint32_t> words;
    words.reserve(transposed.size() * 512);
    for (const Stencil& stencil : transposed)
        for (int32_t half = 0; half < 2; ++half)
            for (int32_t group = 0; group < 2; ++group)
                for (int32_t thread = 0; thread < 128; ++thread)
                    words.push_back(transposed_fragment_bits(stencil, 64 * group + 16 * (thread / 32) + thread / 4 % 8,
                                                             half, thread));
    return words;
}

// Offsets and runs of the tiles of one (b, h), appended.
template <typename RunsOfTile>
void append_runs(int64_t tiles, const RunsOfTile& runs_of, std::vector<int32_t>& offsets,
                 std::vector<DeviceRun>& runs) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
        offsets.push_back(index_of(runs.size()));
        for (const Run& run : runs_of(tile)) runs.push_back({run.first_tile, run.tiles, run.stencil});
    }
    offsets.push_back(index_of(runs.size()));
}

}  // namespace

FlatMask flatten(const BlockMask& mask) {
    std::vector<int32_t> q_tile_begin{0}, kv_tile_begin{0}, q_order, kv_order, row_offsets, column_offsets;
    std::vector<DeviceTile> q_tiles, kv_tiles;
    std::vector<DeviceRun> runs, column_runs;
    for (int64_t b = 0; b < mask.batch(); ++b) {
        for (const Tile& tile : mask.grid(b).q_tiles) q_tiles.push_back({tile.begin, tile.rows});
        for (const Tile& tile : mask.grid(b).kv_tiles) kv_tiles.push_back({tile.begin, tile.rows});
        q_tile_begin.push_back(index_of(q_tiles.size()));
        kv_tile_begin.push_back(index_of(kv_tiles.size()));
        for (int64_t h = 0; h < mask.heads(); ++h) {
            const HeadView head = mask.head(b, h);
            q_order.insert(q_order.end(), head.q_order.begin(), head.q_order.end());
            kv_order.insert(kv_order.end(), head.kv_order.begin(), head.kv_order.end());
            append_runs(
                std::ssize(head.q_tiles), [&](int64_t tile) { return head.row(tile); }, row_offsets, runs);
            append_runs(
                std::ssize(head.kv_tiles), [&](int64_t tile) { return head.column(tile); }, column_offsets,
                column_runs);
        }
    }
    FlatMask flat;
    flat.layout.batch = static_cast<int32_t>(mask.batch());
    flat.layout.heads = static_cast<int32_t>(mask.heads());
    flat.layout.q_tile_begin = append(flat.bytes, q_tile_begin);
    flat.layout.kv_tile_begin = append(flat.bytes, kv_tile_begin);
    flat.layout.q_tiles = append(flat.bytes, q_tiles);
    flat.layout.kv_tiles = append(flat.bytes, kv_tiles);
    flat.layout.q_order = append(flat.bytes, q_order);
    flat.layout.kv_order = append(flat.bytes, kv_order);
    flat.layout.row_offsets = append(flat.bytes, row_offsets);
    flat.layout.column_offsets = append(flat.bytes, column_offsets);
    flat.layout.runs = append(flat.bytes, runs);
    flat.layout.column_runs = append(flat.bytes, column_runs);
    flat.layout.stencil_words = append(flat.bytes, fragment_words(mask.stencils()));
    flat.layout.transposed_words = append(flat.bytes, transposed_fragment_words(mask.transposed_stencils()));
    return flat;
}

DeviceMask at(const DeviceMask& layout, uint64_t address) {
    DeviceMask moved = layout;
    const auto move = [&](auto& pointer) {
        pointer =
            reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(reinterpret_cast<uint64_t>(pointer) + address);
    };
    move(moved.q_tile_begin);
    move(moved.kv_tile_begin);
    move(moved.q_tiles);
    move(moved.kv_tiles);
    move(moved.q_order);
    move(moved.kv_order);
    move(moved.row_offsets);
    move(moved.column_offsets);
    move(moved.runs);
    move(moved.column_runs);
    move(moved.stencil_words);
    move(moved.transposed_words);
    return moved;
}

}  // namespace jali::cuda

// The values of one instruction over the pairs of one tile, in the most compact form that holds them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mask/arithmetic.h"

namespace jali {

inline constexpr int kTileEdge = 128;

// One bit a pair: bit `column % 64` of word `2 * row + column / 64`. The layout of a stencil.
using TileBits = std::array<uint64_t, 2 * kTileEdge>;

// The pairs of a tile: `rows` queries from q_begin on, `columns` keys from kv_begin on.
struct TilePlace {
    int64_t q_begin, kv_begin;
    int rows, columns;
};

// Integers over a tile. Values of kSum are row_values[i] + column_values[j]; kRows and kColumns have one of the two.
enum class Spread : uint8_t { kScalar, kRows, kColumns, kSum, kMatrix };

struct TileIntegers {
    Spread spread = Spread::kScalar;
    int64_t scalar = 0;
    int64_t largest_part = 0;  // no part of a sum is larger in magnitude (kRows, kColumns, kSum)
    std::array<int64_t, kTileEdge> row_values;
    std::array<int64_t, kTileEdge> column_values;
    std::vector<int64_t> matrix;  // row-major, kTileEdge a row

    int64_t at(int row, int column) const {
        switch (spread) {
            case Spread::kScalar:
                return scalar;
            case Spread::kRows:
                return row_values[static_cast<size_t>(row)];
            case Spread::kColumns:
                return column_values[static_cast<size_t>(column)];
            case Spread::kSum:
                return row_values[static_cast<size_t>(row)] + column_values[static_cast<size_t>(column)];
            case Spread::kMatrix:
                break;
        }
        return matrix[static_cast<size_t>(row * kTileEdge + column)];
    }
    bool has_rows() const { return spread == Spread::kRows || spread == Spread::kSum; }
    bool has_columns() const { return spread == Spread::kColumns || spread == Spread::kSum; }
    bool is_separable() const { return spread != Spread::kMatrix; }

    void set_scalar(int64_t value) {
        spread = Spread::kScalar;
        scalar = value;
    }
    int64_t* begin_matrix() {
        spread = Spread::kMatrix;
        matrix.resize(static_cast<size_t>(kTileEdge) * kTileEdge);
        return matrix.data();
    }
};

// Sets each real pair's bit by `keeps(row, column)`; the other bits become 0.
template <class Keeps>
void fill_bits(TileBits& bits, const TilePlace& place, const Keeps& keeps) {
    for (int row = 0; row < kTileEdge; ++row) {
        for (int word = 0; word < 2; ++word) {
            uint64_t packed = 0;
            const int from = 64 * word;
            const int to = row < place.rows ? (place.columns < from + 64 ? place.columns : from + 64) : from;
            for (int column = from; column < to; ++column) {
                packed |= static_cast<uint64_t>(keeps(row, column) ? 1 : 0) << (column - from);
            }
            bits[static_cast<size_t>(2 * row + word)] = packed;
        }
    }
}

// Ones at the tile's real pairs.
TileBits real_pairs(const TilePlace& place);

// bits = x op y by pair, for a comparison of values that both exist at every real pair.
void compare(Op op, const TileIntegers& x, const TileIntegers& y, const TilePlace& place, TileBits& bits);

// result = x op y (or op x) by pair, for operations known not to fail at any real pair.
void combine(Op op, const TileIntegers& x, const TileIntegers& y, const TilePlace& place, TileIntegers& result);

// The same where it may fail: those pairs get the value 0 and a bit in `failed`, which is only added to.
void combine_checked(Op op, const TileIntegers& x, const TileIntegers& y, const TilePlace& place, TileIntegers& result,
                     TileBits& failed);

}  // namespace jali

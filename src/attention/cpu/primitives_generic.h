// The primitives, written once over the vectors of vectors.h; each primitives_<set>.cpp includes this after choosing
// its instruction set and exports make_primitives().
#pragma once

#include "attention/cpu/primitives.h"
#include "attention/cpu/vectors.h"

namespace jali::cpu {
namespace {

static_assert(kLanes % kWidth == 0);
constexpr float kMinusInfinity = -__builtin_inff();

// Sums are made of this many terms at a time, and these sums added up: half the rounding error of one long sum over a
// head dimension of 128.
constexpr int32_t kTerms = 32;

// Accumulators of a product: kRowBlock x kVectorBlock vectors fill most of the registers.
constexpr int kRowBlock = 4;
constexpr int kVectorBlock = kWidth == 16 ? 4 : 2;

// `count` elements at `from`, the rest of the vector 0.
template <DType kDType>
[[gnu::always_inline]] inline Vector load_elements(const std::byte* from, int32_t count) {
    if constexpr (kDType == DType::kFloat32) {
        if (count >= kWidth) return load<Vector>(from);
        Vector v{};
        __builtin_memcpy(&v, from, sizeof(float) * static_cast<size_t>(count));
        return v;
    } else {
        Halves h{};
        if (count >= kWidth)
            h = load<Halves>(from);
        else
            __builtin_memcpy(&h, from, sizeof(uint16_t) * static_cast<size_t>(count));
        return kDType == DType::kBFloat16 ? from_bfloat16(h) : from_float16(h);
    }
}

template <DType kDType>
[[gnu::always_inline]] inline Vector load_at(const StoredRows& from, int32_t row, int32_t column) {
    constexpr int64_t kBytes = kDType == DType::kFloat32 ? 4 : 2;
    if (row >= from.rows || column >= from.columns) return Vector{};
    return load_elements<kDType>(from.data + row * from.row_bytes + column * kBytes, from.columns - column);
}

template <DType kDType>
void load_rows_of(const StoredRows& from, Matrix to) {
    for (int32_t row = 0; row < from.rows; ++row)
        for (int32_t column = 0; column < padded(from.columns); column += kWidth)
            store(to.data + row * to.stride + column, load_at<kDType>(from, row, column));
}

template <DType kDType>
void load_columns_of(const StoredRows& from, Matrix to) {
    for (int32_t row = 0; row < padded(from.rows); row += kWidth)
        for (int32_t column = 0; column < padded(from.columns); column += kWidth) {
            Vector block[kWidth];
            for (int32_t i = 0; i < kWidth; ++i) block[i] = load_at<kDType>(from, row + i, column);
            transpose(block);
            for (int32_t i = 0; i < kWidth; ++i) store(to.data + (column + i) * to.stride + row, block[i]);
        }
}

template <DType kDType>
void store_rows_of(Matrix from, const StoredRows& to) {
    constexpr int64_t kBytes = kDType == DType::kFloat32 ? 4 : 2;
    for (int32_t row = 0; row < to.rows; ++row)
        for (int32_t column = 0; column < to.columns; column += kWidth) {
            const Vector v = load<Vector>(from.data + row * from.stride + column);
            std::byte* place = to.data + row * to.row_bytes + column * kBytes;
            const int32_t count = to.columns - column < kWidth ? to.columns - column : kWidth;
            if constexpr (kDType == DType::kFloat32) {
                __builtin_memcpy(place, &v, static_cast<size_t>(count * kBytes));
            } else {
                const Halves h = kDType == DType::kBFloat16 ? to_bfloat16(v) : to_float16(v);
                __builtin_memcpy(place, &h, static_cast<size_t>(count * kBytes));
            }
        }
}

void load_rows(const StoredRows& from, Matrix to) {
    if (from.dtype == DType::kFloat32) return load_rows_of<DType::kFloat32>(from, to);
    if (from.dtype == DType::kBFloat16) return load_rows_of<DType::kBFloat16>(from, to);
    load_rows_of<DType::kFloat16>(from, to);
}

void load_columns(const StoredRows& from, Matrix to) {
    if (from.dtype == DType::kFloat32) return load_columns_of<DType::kFloat32>(from, to);
    if (from.dtype == DType::kBFloat16) return load_columns_of<DType::kBFloat16>(from, to);
    load_columns_of<DType::kFloat16>(from, to);
}

void store_rows(Matrix from, const StoredRows& to) {
    if (to.dtype == DType::kFloat32) return store_rows_of<DType::kFloat32>(from, to);
    if (to.dtype == DType::kBFloat16) return store_rows_of<DType::kBFloat16>(from, to);
    store_rows_of<DType::kFloat16>(from, to);
}

// Rows [row, row + kRows) and kVectors vectors from `column` on, terms [first, last).
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_block(const Product& p, int32_t row, int32_t column, int32_t first,
                                                  int32_t last) {
    Vector sums[kRows][kVectors] = {};
    const float* a = p.a + row * p.a_row + first * p.a_column;
    const float* b = p.b.data + column + first * p.b.stride;
    for (int32_t l = first; l < last; ++l, a += p.a_column, b += p.b.stride) {
        Vector line[kVectors];
        for (int v = 0; v < kVectors; ++v) line[v] = load<Vector>(b + v * kWidth);
        for (int r = 0; r < kRows; ++r) {
            const Vector x = splat(a[r * p.a_row]);
            for (int v = 0; v < kVectors; ++v) sums[r][v] = fused(x, line[v], sums[r][v]);
        }
    }
    const bool replace = first == 0 && p.update == Update::kReplace;
    for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kVectors; ++v) {
            float* place = p.c.data + (row + r) * p.c.stride + column + v * kWidth;
            store(place, replace ? sums[r][v] : load<Vector>(place) + sums[r][v]);
        }
}

template <int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_terms(const Product& p, int32_t row, int32_t column) {
    for (int32_t first = 0; first < p.k; first += kTerms)
        multiply_block<kRows, kVectors>(p, row, column, first, first + kTerms < p.k ? first + kTerms : p.k);
}

template <int kVectors>
void multiply_columns(const Product& p, int32_t column) {
    int32_t row = 0;
    for (; row + kRowBlock <= p.m; row += kRowBlock) multiply_terms<kRowBlock, kVectors>(p, row, column);
    for (; row < p.m; ++row) multiply_terms<1, kVectors>(p, row, column);
}

void multiply(const Product& p) {
    int32_t column = 0;
    for (; column + kVectorBlock * kWidth <= p.n; column += kVectorBlock * kWidth)
        multiply_columns<kVectorBlock>(p, column);
    for (; column < p.n; column += kWidth) multiply_columns<1>(p, column);
}

[[gnu::always_inline]] inline Integers kept_at(const Scores& s, int32_t key, int32_t query) {
    if (s.stencil == nullptr) return Integers{} == 0;
    return kept_lanes(s.stencil + 2 * key, query);
}

void masked_maximum(const Scores& s, float scale, float* maximum_by_query) {
    for (int32_t query = 0; query < padded(s.queries); query += kWidth) {
        Vector largest = load<Vector>(maximum_by_query + query);
        for (int32_t key = 0; key < s.keys; ++key) {
            float* place = s.tile.data + key * s.tile.stride + query;
            const Vector scaled = load<Vector>(place) * splat(scale);
            const Vector score = kept_at(s, key, query) ? scaled : splat(kMinusInfinity);
            store(place, score);
            largest = maximum(score, largest);
        }
        store(maximum_by_query + query, largest);
    }
}

void exponentials(const Scores& s, const float* maximum_by_query, float* sum_by_query) {
    for (int32_t query = 0; query < padded(s.queries); query += kWidth) {
        const Vector largest = load<Vector>(maximum_by_query + query);
        const Vector subtracted = largest == splat(kMinusInfinity) ? Vector{} : largest;
        Vector sum{};
        for (int32_t key = 0; key < s.keys; ++key) {
            float* place = s.tile.data + key * s.tile.stride + query;
            const Vector p = exponential(load<Vector>(place) - subtracted);
            store(place, p);
            sum += p;
        }
        store(sum_by_query + query, load<Vector>(sum_by_query + query) + sum);
    }
}

void probabilities(const Scores& s, float scale, const float* lse) {
    for (int32_t query = 0; query < padded(s.queries); query += kWidth) {
        const Vector subtracted = load<Vector>(lse + query);
        for (int32_t key = 0; key < s.keys; ++key) {
            float* place = s.tile.data + key * s.tile.stride + query;
            const Vector p = exponential(load<Vector>(place) * splat(scale) - subtracted);
            store(place, kept_at(s, key, query) ? p : Vector{});
        }
    }
}

void score_gradients(const Scores& p, Matrix gradients, const float* delta) {
    for (int32_t query = 0; query < padded(p.queries); query += kWidth) {
        const Vector subtracted = load<Vector>(delta + query);
        for (int32_t key = 0; key < p.keys; ++key) {
            float* place = gradients.data + key * gradients.stride + query;
            const Vector probability = load<Vector>(p.tile.data + key * p.tile.stride + query);
            const Vector gradient = probability * (load<Vector>(place) - subtracted);
            store(place, kept_at(p, key, query) ? gradient : Vector{});
        }
    }
}

void multiply_rows(Matrix rows, int32_t count, int32_t columns, const float* factors) {
    for (int32_t row = 0; row < count; ++row)
        for (int32_t column = 0; column < padded(columns); column += kWidth) {
            float* place = rows.data + row * rows.stride + column;
            store(place, load<Vector>(place) * splat(factors[row]));
        }
}

void divide_rows(Matrix rows, int32_t count, int32_t columns, const float* divisors) {
    for (int32_t row = 0; row < count; ++row)
        for (int32_t column = 0; column < padded(columns); column += kWidth) {
            float* place = rows.data + row * rows.stride + column;
            store(place, load<Vector>(place) / splat(divisors[row]));
        }
}

void dot_columns(Matrix x, Matrix y, int32_t rows, int32_t columns, float* result) {
    for (int32_t column = 0; column < padded(columns); column += kWidth) {
        Vector total{};
        for (int32_t first = 0; first < rows; first += kTerms) {
            Vector sum{};
            for (int32_t row = first; row < first + kTerms && row < rows; ++row)
                sum = fused(load<Vector>(x.data + row * x.stride + column),
                            load<Vector>(y.data + row * y.stride + column), sum);
            total = first == 0 ? sum : total + sum;
        }
        store(result + column, total);
    }
}

constexpr Primitives make_primitives(std::string_view name) {
    return {.name = name,
            .load_rows = load_rows,
            .load_columns = load_columns,
            .store_rows = store_rows,
            .multiply = multiply,
            .masked_maximum = masked_maximum,
            .exponentials = exponentials,
            .probabilities = probabilities,
            .score_gradients = score_gradients,
            .multiply_rows = multiply_rows,
            .divide_rows = divide_rows,
            .dot_columns = dot_columns};
}

}  // namespace
}  // namespace jali::cpu

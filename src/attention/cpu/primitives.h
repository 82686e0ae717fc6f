// The operations that the CPU engine's algorithm is written in. Each instruction set is one table of them, made by one
// primitives_<set>.cpp; forward.cpp and backward.cpp know no instruction set.
//
// Scores are kept transposed, [keys x queries]: maxima and sums over keys are then plain vector operations, the row of
// a transposed stencil is the lane mask of one key, and neither product needs a transposed key or value tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "jali/tensor.h"

namespace jali::cpu {

// Static, not inline: see vectors.h.
// Scratch rows are padded to a multiple of this many floats, and so is every count that a vector loop runs over.
inline constexpr int32_t kLanes = 16;

static constexpr int32_t padded(int32_t count) {
    return (count + kLanes - 1) / kLanes * kLanes;
}
// Floats from one scratch row to the next: one cache line more than the row, so that a walk down a column does not
// fall into few cache sets.
static constexpr int64_t scratch_stride(int32_t columns) {
    return padded(columns) + kLanes;
}

// Rows of a tensor in its own dtype; the elements of a row are adjacent, columns are a multiple of 8.
struct StoredRows {
    std::byte* data = nullptr;
    int64_t row_bytes = 0;
    DType dtype = DType::kFloat32;
    int32_t rows = 0, columns = 0;
};

// float32 scratch, row-major.
struct Matrix {
    float* data = nullptr;
    int64_t stride = 0;
};

enum class Update : uint8_t { kReplace, kAdd };

// c[m x n] = or += a[m x k] b[k x n], summed over k in float32 in an order that depends on k alone.
struct Product {
    const float* a;  // element (i, l) at a[i * a_row + l * a_column]
    int64_t a_row, a_column;
    Matrix b, c;
    int32_t m, n, k;  // n is a multiple of kLanes; c is written m x n
    Update update;
};

// The scores of a tile pair, [keys x queries]; writes reach the padded query count.
struct Scores {
    Matrix tile;
    int32_t keys, queries;
    const uint64_t* stencil;  // two words a key: bit `query`; null where every pair is kept
};

struct Primitives {
    std::string_view name;

    // to[row][column], columns padded with zeros.
    void (*load_rows)(const StoredRows& from, Matrix to);
    // to[column][row], both padded with zeros.
    void (*load_columns)(const StoredRows& from, Matrix to);
    // Rounds to nearest, ties to even.
    void (*store_rows)(Matrix from, const StoredRows& to);

    void (*multiply)(const Product& product);

    // scores = scale * scores, -inf where not kept; maximum[query] = max(maximum[query], scores).
    void (*masked_maximum)(const Scores& scores, float scale, float* maximum);
    // scores = exp(scores - maximum), 0 where maximum is -inf; sum[query] += scores.
    void (*exponentials)(const Scores& scores, const float* maximum, float* sum);
    // scores = exp(scale * scores - lse) where kept, 0 elsewhere.
    void (*probabilities)(const Scores& scores, float scale, const float* lse);
    // gradients = probabilities * (gradients - delta) where kept, 0 elsewhere.
    void (*score_gradients)(const Scores& probabilities, Matrix gradients, const float* delta);

    // rows[row][:] *= factors[row], and /=.
    void (*multiply_rows)(Matrix rows, int32_t count, int32_t columns, const float* factors);
    void (*divide_rows)(Matrix rows, int32_t count, int32_t columns, const float* divisors);
    // result[column] = sum over rows of x * y, in the order and rounding of multiply(), so that the delta of a query
    // with one key equals its dP exactly.
    void (*dot_columns)(Matrix x, Matrix y, int32_t rows, int32_t columns, float* result);
};

// One a file; null where the build or the processor lacks the instructions.
const Primitives* portable_primitives();
const Primitives* avx2_primitives();
const Primitives* avx512_primitives();

// Those this machine runs, fastest first.
std::vector<const Primitives*> available_primitives();
// The first of them, or the one that the environment's JALI_CPU names. Throws Error where this machine has no such.
const Primitives& chosen_primitives();

}  // namespace jali::cpu

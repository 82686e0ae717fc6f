#include "cli/work_size.h"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>

#include "cli/console.h"
#include "cli/machine.h"
#include "jali/error.h"

namespace jali::cli {

void check_shape(const AttentionShape& shape) {
    if (shape.heads % shape.kv_heads != 0) {
        throw Error(
            fmt::format("q has {} heads, which is not a multiple of the {} heads of k", shape.heads, shape.kv_heads));
    }
    for (const auto& [option, dimension] :
         {std::pair{"--head-dim", shape.head_dim}, {"--v-head-dim", shape.v_head_dim}}) {
        if (dimension % 8 != 0) throw Error(fmt::format("{} is {} but must be a multiple of 8", option, dimension));
    }
}

double forward_flops(const AttentionShape& shape, int64_t pairs) {
    return 2 * static_cast<double>(shape.head_dim + shape.v_head_dim) * static_cast<double>(pairs);
}

double backward_flops(const AttentionShape& shape, int64_t pairs) {
    return 2 * static_cast<double>(3 * shape.head_dim + 2 * shape.v_head_dim) * static_cast<double>(pairs);
}

namespace {

// Counts of a user may be anything: what does not fit is as good as the largest.
int64_t product(std::initializer_list<int64_t> factors) {
    int64_t result = 1;
    for (const int64_t factor : factors) {
        if (__builtin_mul_overflow(result, factor, &result)) return std::numeric_limits<int64_t>::max();
    }
    return result;
}

int64_t sum(int64_t x, int64_t y) {
    int64_t result = 0;
    return __builtin_add_overflow(x, y, &result) ? std::numeric_limits<int64_t>::max() : result;
}

// q, k, v and a tensor of the output's shape.
int64_t tensor_bytes(const AttentionShape& shape, int64_t element_bytes) {
    const int64_t dimensions = shape.head_dim + shape.v_head_dim;
    return sum(product({shape.batch, shape.heads, shape.q_len, dimensions, element_bytes}),
               product({shape.batch, shape.kv_heads, shape.kv_len, dimensions, element_bytes}));
}

int64_t lse_bytes(const AttentionShape& shape) {
    return product({shape.batch, shape.heads, shape.q_len, bytes_of(DType::kFloat32)});
}

}  // namespace

int64_t forward_bytes(const AttentionShape& shape) {
    return sum(tensor_bytes(shape, bytes_of(shape.dtype)), lse_bytes(shape));
}

int64_t backward_bytes(const AttentionShape& shape) {
    return sum(product({2, tensor_bytes(shape, bytes_of(shape.dtype))}), lse_bytes(shape));
}

int64_t check_bytes(const AttentionShape& shape) {
    // Beside the dtype's tensors: the inputs, the results, and exact and naive ones in float64.
    return sum(backward_bytes(shape), product({4, tensor_bytes(shape, bytes_of(DType::kFloat64))}));
}

void require_memory(int64_t bytes) {
    const int64_t present = this_machine().memory_bytes;
    if (bytes > present) {
        throw Error(
            fmt::format("the tensors need {} but this machine has {}", format_bytes(bytes), format_bytes(present)));
    }
}

}  // namespace jali::cli

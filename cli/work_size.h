// How much work a call of attention is, and how large its tensors are.
#pragma once

#include <cstdint>

#include "jali/tensor.h"

namespace jali::cli {

struct AttentionShape {
    int64_t batch = 1, heads = 1, kv_heads = 1, q_len = 0, kv_len = 0, head_dim = 0, v_head_dim = 0;
    DType dtype = DType::kBFloat16;
};

// Throws Error where heads do not divide or a count is not positive.
void check_shape(const AttentionShape& shape);

// Floating-point operations of `pairs` useful pairs, summed over heads: two products of the head dimension forward (4 D
// where both dimensions are D), five backward (10 D).
double forward_flops(const AttentionShape& shape, int64_t pairs);
double backward_flops(const AttentionShape& shape, int64_t pairs);

// q, k, v, out and lse, and for a backward also dout, dq, dk and dv.
int64_t forward_bytes(const AttentionShape& shape);
int64_t backward_bytes(const AttentionShape& shape);
// All of that for `check`, which holds float64 copies as well.
int64_t check_bytes(const AttentionShape& shape);
// Throws Error with both numbers where the tensors would not fit this machine's memory.
void require_memory(int64_t bytes);

}  // namespace jali::cli

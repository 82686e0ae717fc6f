// Attention under a block mask, forward and backward.
//
//     S = scale * q k^T over the kept pairs, P = softmax(S) by row, out = P v, lse = log sum exp of a row of S.
//
// Gradients follow FlashAttention-2 (Dao 2023, section 3.1): delta = rowsum(dout * out) - dlse,
// dS = P * (dout v^T - delta), dq = scale * dS k, dk = scale * dS^T q, dv = P^T dout.
// A row that keeps no key has out = 0, lse = -inf and zero gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jali/block_mask.h"
#include "jali/tensor.h"

namespace jali {

struct AttentionOptions {
    std::optional<double> scale;  // default 1 / sqrt(D)
    std::string engine = "cpu";   // one of engines()
    int threads = 0;              // 0: the environment's JALI_THREADS, or all processors; results do not depend on it
};

// Shapes: q (B, Hq, Sq, D), k (B, Hkv, Skv, D), v (B, Hkv, Skv, Dv), out (B, Hq, Sq, Dv), lse (B, Hq, Sq, 1) float32.
// Hq is a multiple of Hkv. q, k, v and out share one dtype: float32, bfloat16 or float16.
// The mask's batch and heads are B and Hq, or 1. D and Dv are multiples of 8 up to 256, the last dimension is
// contiguous, and rows start at multiples of 16 bytes. Outputs share memory with no other tensor of the call. `lse`
// with null data is not written.
struct ForwardTensors {
    TensorView q, k, v;
    TensorView out, lse;
};

// out and lse are the forward's results; dlse with null data is zero; dq, dk, dv have the shapes and dtype of q, k, v.
struct BackwardTensors {
    TensorView q, k, v, out, lse;
    TensorView dout, dlse;
    TensorView dq, dk, dv;
};

// Throws Error before any work where shapes, dtypes, strides, the mask or the scale do not fit; writes every element
// of the outputs otherwise. Safe to call from several threads at once.
void attention_forward(const ForwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options = {});
void attention_backward(const BackwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options = {});

struct EngineInfo {
    std::string name;         // "cpu"
    std::string description;  // instruction set or device
};
std::vector<EngineInfo> engines();

}  // namespace jali

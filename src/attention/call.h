// A checked call, as engines receive it: everything fits, every default is filled in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "jali/attention.h"

namespace jali {

struct ForwardCall {
    const ForwardTensors& tensors;
    const BlockMask& mask;
    float scale;
    int threads;  // as the caller asked, 0 for the default
};

struct BackwardCall {
    const BackwardTensors& tensors;
    const BlockMask& mask;
    float scale;
    int threads;
};

// One implementation. Called with tensors that passed check_forward or check_backward.
struct Engine {
    std::string_view name;
    std::string (*description)();
    void (*forward)(const ForwardCall& call);
    void (*backward)(const BackwardCall& call);
};

// Those of this build that this machine runs.
const std::vector<Engine>& engine_registry();

// Query heads that share one key head.
inline int64_t group_size(const TensorView& q, const TensorView& k) {
    return k.shape[1] == 0 ? 0 : q.shape[1] / k.shape[1];
}

// Address of element (b, h, s, 0).
inline std::byte* address(const TensorView& tensor, int64_t b, int64_t h, int64_t s) {
    const int64_t elements = b * tensor.strides[0] + h * tensor.strides[1] + s * tensor.strides[2];
    return static_cast<std::byte*>(tensor.data) + elements * bytes_of(tensor.dtype);
}

// Address of row s of a float32 tensor without a last dimension.
inline float* row_value(const TensorView& tensor, int64_t b, int64_t h, int64_t s) {
    return reinterpret_cast<float*>(address(tensor, b, h, s));
}

}  // namespace jali

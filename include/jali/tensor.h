// Tensors as pointers and strides. Jali owns none of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace jali {

enum class DType : uint8_t { kFloat32, kBFloat16, kFloat16, kFloat64 };

int64_t bytes_of(DType dtype);
std::string_view name_of(DType dtype);  // "float32", "bfloat16", "float16", "float64"

// A strided view of (batch, heads, sequence, dimension) elements; `strides` counts elements, may be 0 (expanded).
// A null `data` with a shape that has no element is legal.
struct TensorView {
    void* data = nullptr;
    DType dtype = DType::kFloat32;
    std::array<int64_t, 4> shape{};
    std::array<int64_t, 4> strides{};

    int64_t elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
};

// Contiguous (batch, heads, sequence, dimension).
TensorView contiguous(void* data, DType dtype, std::array<int64_t, 4> shape);
// Stored (batch, sequence, heads, dimension); the view's index order stays (batch, heads, sequence, dimension).
TensorView contiguous_bshd(void* data, DType dtype, std::array<int64_t, 4> shape);

}  // namespace jali

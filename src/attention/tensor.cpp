#include "jali/tensor.h"

namespace jali {

int64_t bytes_of(DType dtype) {
    switch (dtype) {
        case DType::kFloat32:
            return 4;
        case DType::kBFloat16:
        case DType::kFloat16:
            return 2;
        case DType::kFloat64:
            return 8;
    }
    return 0;
}

std::string_view name_of(DType dtype) {
    switch (dtype) {
        case DType::kFloat32:
            return "float32";
        case DType::kBFloat16:
            return "bfloat16";
        case DType::kFloat16:
            return "float16";
        case DType::kFloat64:
            return "float64";
    }
    return "unknown";
}

TensorView contiguous(void* data, DType dtype, std::array<int64_t, 4> shape) {
    return {data, dtype, shape, {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1}};
}

TensorView contiguous_bshd(void* data, DType dtype, std::array<int64_t, 4> shape) {
    return {data, dtype, shape, {shape[2] * shape[1] * shape[3], shape[3], shape[1] * shape[3], 1}};
}

}  // namespace jali

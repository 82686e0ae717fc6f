#include "attention/cuda/tensor_map.h"

#include <algorithm>
#include <string>

#include "attention/cuda/driver.h"

namespace jali::cuda {

CUtensorMap tensor_map(const TensorView& tensor, int rows, std::string_view name, void* stand_in) {
    const auto bytes = static_cast<uint64_t>(bytes_of(tensor.dtype));
    const auto extent = [&](size_t i) { return static_cast<cuuint64_t>(std::max<int64_t>(1, tensor.shape[i])); };
    const cuuint64_t extents[4] = {extent(3), extent(2), extent(1), extent(0)};
    cuuint64_t strides[3];
    for (size_t i = 0; i < 3; ++i) {
        // An extent of 1 needs no stride, but the map wants one: a multiple of 16 bytes.
        const auto stride = static_cast<uint64_t>(tensor.strides[2 - i]) * bytes;
        strides[i] = tensor.shape[2 - i] <= 1 ? 16 : stride;
    }
    const cuuint32_t box[4] = {64, static_cast<cuuint32_t>(rows), 1, 1};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    CUtensorMap map;
    check(
        driver().tensor_map_encode(
            &map, tensor.dtype == DType::kFloat16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            4, tensor.elements() == 0 ? stand_in : tensor.data, extents, strides, box, steps,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "describing " + std::string(name) + " to the GPU");
    return map;
}

}  // namespace jali::cuda

// Tensor maps: how TMA finds a tile of a tensor.
#pragma once

#include <cuda.h>

#include <string_view>

#include "jali/tensor.h"

namespace jali::cuda {

// {dimension, sequence, heads, batch} in boxes of 64 columns by `rows`, 128-byte swizzle; what lies outside of the
// tensor reads as 0 and is not written. A tensor without an element is replaced by one row of `stand_in`, which nobody
// reads.
CUtensorMap tensor_map(const TensorView& tensor, int rows, std::string_view name, void* stand_in);

}  // namespace jali::cuda

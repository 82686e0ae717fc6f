// Single values of each dtype, one at a time and obviously right: what checks and tests hold the engines' vector
// conversions to.
#pragma once

#include <cstdint>

#include "jali/tensor.h"

namespace jali {

// The nearest value of the dtype, ties to even; beyond the largest, infinity.
double rounded(double value, DType dtype);

// Half the distance between neighbours of the dtype at |value|: the most that rounding a value there costs. 0 for 0.
double rounding_of(double value, DType dtype);

// Element (b, h, s, d), read as float64 and written rounded.
double element(const TensorView& tensor, int64_t b, int64_t h, int64_t s, int64_t d);
void set_element(const TensorView& tensor, int64_t b, int64_t h, int64_t s, int64_t d, double value);

}  // namespace jali

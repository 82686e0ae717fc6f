// Random elements for measurements and demonstrations.
#pragma once

#include <cstdint>

#include "cli/owned_tensor.h"

namespace jali::cli {

// Fills a float32, bfloat16 or float16 tensor with N(0, 1). Each element is one of 65,536 normal samples, so that the
// hundreds of millions of a long sequence take a second. The same seed gives the same elements.
void fill_normal(const OwnedTensor& tensor, uint64_t seed);

}  // namespace jali::cli

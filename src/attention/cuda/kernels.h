// The compiled kernels, loaded once a device.
#pragma once

#include <cuda.h>

#include "jali/tensor.h"

namespace jali::cuda {

// Of one dtype; head dimensions up to 128.
struct Kernels {
    CUfunction forward, backward, backward_preprocess, backward_convert;
    int forward_shared_bytes, backward_shared_bytes;
};

struct DeviceKernels {
    Kernels bfloat16, float16;
    int multiprocessors = 0;
};

// Throws Error where the device's architecture is none that kernels are built for.
const DeviceKernels& kernels_of(int device);
// "sm_90"
std::string arch_of(int device);

}  // namespace jali::cuda

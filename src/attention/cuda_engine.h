// The GPU as an engine of jali/attention.h: tensors in host memory, copied there and back.
#pragma once

#include <vector>

#include "attention/call.h"

namespace jali {

// One where this build has kernels and this machine a device for them, none otherwise. src/attention/cuda/ has it, or
// src/attention/no_cuda/ where the build found no CUDA compiler.
std::vector<Engine> cuda_engines();

}  // namespace jali

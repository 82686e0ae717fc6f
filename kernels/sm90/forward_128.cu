// The forward kernels of head dimension 128.
#include "kernels/sm90/forward.cuh"
#include "kernels/sm90/launch.h"

namespace jali::sm90 {

static_assert(Forward<__nv_bfloat16, 128, 128>::kSharedBytes <= kForwardSharedBytes);
static_assert(Forward<__nv_bfloat16, 128, 128>::kThreads == kThreads);

#define JALI_FORWARD(name, element, head_dim, value_dim)                                             \
    extern "C" __global__ void __launch_bounds__(Forward<element, head_dim, value_dim>::kThreads, 1) \
        name(const __grid_constant__ ForwardParameters p) {                                          \
        forward<element, head_dim, value_dim>(p);                                                    \
    }

JALI_FORWARD(jali_forward_bf16_128, __nv_bfloat16, 128, 128)
JALI_FORWARD(jali_forward_fp16_128, __half, 128, 128)

}  // namespace jali::sm90

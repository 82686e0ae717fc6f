// The backward kernels of head dimension 128.
#include "kernels/sm90/backward.cuh"
#include "kernels/sm90/backward_rows.cuh"

namespace jali::sm90 {

static_assert(Backward<__nv_bfloat16, 128>::kSharedBytes <= kBackwardSharedBytes);
static_assert(Backward<__nv_bfloat16, 128>::kThreads == kThreads);

#define JALI_BACKWARD(suffix, element, dim)                                                 \
    extern "C" __global__ void __launch_bounds__(Backward<element, dim>::kThreads, 1)       \
        jali_backward_##suffix(const __grid_constant__ BackwardParameters p) {              \
        backward<element, dim>(p);                                                          \
    }                                                                                       \
    extern "C" __global__ void __launch_bounds__(kRowThreads)                               \
        jali_backward_preprocess_##suffix(const __grid_constant__ PreprocessParameters p) { \
        preprocess<element, dim>(p);                                                        \
    }                                                                                       \
    extern "C" __global__ void __launch_bounds__(kRowThreads)                               \
        jali_backward_convert_##suffix(const __grid_constant__ ConvertParameters p) {       \
        convert<element, dim>(p);                                                           \
    }

JALI_BACKWARD(bf16_128, __nv_bfloat16, 128)
JALI_BACKWARD(fp16_128, __half, 128)

}  // namespace jali::sm90

// The cubins, embedded by the build (cmake/kernels.cmake).
#pragma once

namespace jali::cuda {

extern "C" {
extern const unsigned char jali_image_sm90_forward_128[];
extern const unsigned char jali_image_sm90_backward_128[];
}
inline const unsigned char* const kForwardImage = jali_image_sm90_forward_128;
inline const unsigned char* const kBackwardImage = jali_image_sm90_backward_128;

}  // namespace jali::cuda

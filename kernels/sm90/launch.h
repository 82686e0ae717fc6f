// What the host must know to launch the sm_90a kernels; the kernels assert it.
#pragma once

namespace jali::sm90 {

inline constexpr int kThreads = 384;     // a block of the main kernels
inline constexpr int kRowThreads = 256;  // a block of the backward's kernels by rows
inline constexpr int kForwardSharedBytes = 198144;
inline constexpr int kBackwardSharedBytes = 200192;

}  // namespace jali::sm90

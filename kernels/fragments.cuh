// Tiles in shared memory, and pairs of floats as 16-bit operands.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/ptx.cuh"

namespace jali {

template <typename Element>
__device__ __forceinline__ uint32_t pack(float low, float high);
template <>
__device__ __forceinline__ uint32_t pack<__nv_bfloat16>(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
template <>
__device__ __forceinline__ uint32_t pack<__half>(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

__device__ __forceinline__ float to_float(__nv_bfloat16 x) {
    return __bfloat162float(x);
}
__device__ __forceinline__ float to_float(__half x) {
    return __half2float(x);
}

// A tile of kColumns columns as halves of 64, each [row][64] with a 128-byte swizzle; columns past the tensor's are 0.
template <int kColumns, uint32_t kHalfBytes>
__device__ __forceinline__ void load_tile(uint32_t shared, const CUtensorMap* map, uint32_t barrier, int32_t row,
                                          int32_t head, int32_t batch) {
#pragma unroll
    for (int half = 0; half < kColumns / 64; ++half)
        ptx::tma_load_4d(shared + half * kHalfBytes, map, barrier, 64 * half, row, head, batch);
}

}  // namespace jali

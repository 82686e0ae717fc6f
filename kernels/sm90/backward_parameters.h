// What the host hands to the sm_90a backward kernels.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/device_mask.h"

namespace jali::sm90 {

// Of the dQ sums of 64 rows and 64 columns.
enum DqState : int32_t { kNothing = 0, kBeingStored = 1, kStored = 2 };

// Scratch in tile slots: (b, h, query tile) has slot heads * (query tiles of the batches before) + h * q_tiles + tile,
// 128 rows each, so that every copy starts at a multiple of 16 bytes whatever row the tile begins at.
struct BackwardParameters {
    // {dimension, length, heads, batch}, boxes of 64 columns, 128-byte swizzle.
    CUtensorMap q, dout;  // boxes of 64 rows
    CUtensorMap k, v;     // boxes of 128 rows
    DeviceMask mask;
    float* lse_log2;  // a row of a slot: lse x log2(e); +inf where the row is padding or keeps nothing
    float* delta;     // rowsum(dout * out) - dlse; 0 there
    float* dq_sums;   // a half slot (64 rows): [64-column half][i][thread] of four floats, as a warp group holds them
    int32_t* dq_states;  // of each such half: DqState; 0 before the launch
    void *dk, *dv;       // strides in elements
    int64_t dk_batch_stride, dk_head_stride, dk_row_stride;
    int64_t dv_batch_stride, dv_head_stride, dv_row_stride;
    int32_t* counter;  // 0 before the launch
    int32_t batch, kv_heads, heads_per_kv_head;
    int32_t head_dim, value_dim;
    float scale;
    float scale_log2;  // |scale| x log2(e), not 0
    bool negate;       // the scale is negative
};

// One thread block a tile slot: lse_log2 and delta.
struct PreprocessParameters {
    DeviceMask mask;
    const void *out, *dout;
    int64_t out_batch_stride, out_head_stride, out_row_stride;
    int64_t dout_batch_stride, dout_head_stride, dout_row_stride;
    const float* lse;
    const float* dlse;  // or null
    int64_t lse_batch_stride, lse_head_stride, lse_row_stride;
    int64_t dlse_batch_stride, dlse_head_stride, dlse_row_stride;
    float *lse_log2, *delta;
    int32_t q_heads, value_dim;
};

// One thread block a tile slot: dq = scale x dq_sums, in the tested dtype.
struct ConvertParameters {
    DeviceMask mask;
    const float* dq_sums;
    const int32_t* dq_states;  // where nothing was stored, dq is 0
    void* dq;
    int64_t dq_batch_stride, dq_head_stride, dq_row_stride;
    int32_t q_heads, head_dim;
    float scale;
};

}  // namespace jali::sm90

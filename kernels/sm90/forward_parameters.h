// What the host hands to the sm_90a forward kernels.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/device_mask.h"

namespace jali::sm90 {

struct ForwardParameters {
    // {dimension, length, heads, batch}, boxes of 64 columns, 128-byte swizzle; the output's box has 64 rows.
    CUtensorMap q, k, v, out;
    DeviceMask mask;
    void* out_pointer;  // for groups of fewer than 64 rows; strides in elements
    int64_t out_batch_stride, out_head_stride, out_row_stride;
    float* lse;  // null: not wanted
    int64_t lse_batch_stride, lse_head_stride, lse_row_stride;
    int32_t* counter;  // 0 before the launch
    int32_t batch, q_heads, heads_per_kv_head;
    int32_t value_dim;
    float scale_log2;  // |scale| x log2(e), not 0
    float scale_rest;  // |scale| - scale_log2 x ln(2)
    bool negate;       // the scale is negative
};

}  // namespace jali::sm90

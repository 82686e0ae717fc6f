// What the backward does by query rows, before and after its main kernel: one block a tile slot.
#pragma once

#include "kernels/fragments.cuh"
#include "kernels/sm90/backward_parameters.h"
#include "kernels/sm90/launch.h"

namespace jali::sm90 {

struct SlotPlace {
    int32_t b, h, tile;
    DeviceTile rows;
};

__device__ __forceinline__ SlotPlace place_of(const DeviceMask& mask, int32_t q_heads, int32_t slot) {
    int32_t b = 0, first = 0, tiles = 0;
    if (mask.batch == 1) {
        tiles = mask.q_tile_begin[1];
        b = slot / (tiles * q_heads);
        slot -= b * tiles * q_heads;
    } else {
        while (slot >= mask.q_tile_begin[b + 1] * q_heads) ++b;
        first = mask.q_tile_begin[b];
        tiles = mask.q_tile_begin[b + 1] - first;
        slot -= first * q_heads;
    }
    return {b, slot / tiles, slot % tiles, mask.q_tiles[first + slot % tiles]};
}

// Sixteen threads a row.
template <typename Element, int kDim>
__device__ __forceinline__ void preprocess(const PreprocessParameters& p) {
    constexpr int kLanes = kDim / 8;
    const SlotPlace place = place_of(p.mask, p.q_heads, blockIdx.x);
    const auto* out = static_cast<const Element*>(p.out) + place.b * p.out_batch_stride + place.h * p.out_head_stride;
    const auto* dout =
        static_cast<const Element*>(p.dout) + place.b * p.dout_batch_stride + place.h * p.dout_head_stride;
    for (int row = threadIdx.x / kLanes; row < 128; row += kRowThreads / kLanes) {
        float sum = 0.0F;
        const bool real = row < place.rows.rows;
        const int column = threadIdx.x % kLanes * 8;
        if (real && column < p.value_dim) {
            const int64_t at = place.rows.begin + row;
            uint4 x = *reinterpret_cast<const uint4*>(out + at * p.out_row_stride + column);
            uint4 y = *reinterpret_cast<const uint4*>(dout + at * p.dout_row_stride + column);
            const auto* xs = reinterpret_cast<const Element*>(&x);
            const auto* ys = reinterpret_cast<const Element*>(&y);
#pragma unroll
            for (int i = 0; i < 8; ++i) sum = fmaf(to_float(xs[i]), to_float(ys[i]), sum);
        }
#pragma unroll
        for (int lanes = 1; lanes < kLanes; lanes *= 2) sum += __shfl_xor_sync(0xffffffff, sum, lanes);
        if (threadIdx.x % kLanes == 0) {
            const int64_t slot_row = static_cast<int64_t>(blockIdx.x) * 128 + row;
            float lse = INFINITY;
            if (real) {
                const int64_t at = place.rows.begin + row;
                const float natural =
                    p.lse[place.b * p.lse_batch_stride + place.h * p.lse_head_stride + at * p.lse_row_stride];
                if (natural != -INFINITY) lse = natural * 1.44269504088896341F;
                if (p.dlse != nullptr)
                    sum -=
                        p.dlse[place.b * p.dlse_batch_stride + place.h * p.dlse_head_stride + at * p.dlse_row_stride];
            }
            p.lse_log2[slot_row] = lse;
            p.delta[slot_row] = lse == INFINITY ? 0.0F : sum;
        }
    }
}

// Sums lie as the warp groups held them: of half slot and 64-column half w, float4 i of thread t: rows
// 16 (t / 32) + t / 4 % 8 (+ 8 for the last two), columns 64 w + 8 i + 2 (t % 4) (+ 1). A thread reads its four float4
// of one 32-column part; four neighbours exchange words so that each has eight columns of two rows.
template <typename Element, int kDim>
__device__ __forceinline__ void convert(const ConvertParameters& p) {
    static_assert(kDim == 128);
    const SlotPlace place = place_of(p.mask, p.q_heads, blockIdx.x);
    auto* dq = static_cast<Element*>(p.dq) + place.b * p.dq_batch_stride + place.h * p.dq_head_stride;
    const uint32_t thread = threadIdx.x % 128, lane = threadIdx.x % 4;
    const int row_of_thread = static_cast<int>(16 * (thread / 32) + thread / 4 % 8);
#pragma unroll
    for (int part = static_cast<int>(threadIdx.x) / 128; part < 8; part += kRowThreads / 128) {
        const int half = part / 4, w = part / 2 % 2, quarter = part % 2;  // 64 rows, 64 columns, 32 of those
        if (64 * half >= place.rows.rows) break;
        const int64_t piece = (static_cast<int64_t>(blockIdx.x) * 2 + half) * 2 + w;
        uint32_t words[2][4] = {};  // [row][8 columns as pairs], before the exchange [row][i]
        if (p.dq_states[piece] == kStored) {
            const auto* sums = reinterpret_cast<const float4*>(p.dq_sums + piece * 4096) + quarter * 512 + thread;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float4 sum = __ldcs(sums + i * 128);
                words[0][i] = pack<Element>(sum.x * p.scale, sum.y * p.scale);
                words[1][i] = pack<Element>(sum.z * p.scale, sum.w * p.scale);
            }
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            // The 4 x 4 transpose among four lanes: exchange with the neighbour two away, then with the next.
#pragma unroll
            for (int distance = 2; distance > 0; distance /= 2)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if ((i & distance) != 0) continue;
                    const bool upper = (lane & distance) != 0;
                    const uint32_t sent = upper ? words[r][i] : words[r][i + distance];
                    const uint32_t received = __shfl_xor_sync(0xffffffff, sent, distance);
                    if (upper) {
                        words[r][i] = received;
                    } else {
                        words[r][i + distance] = received;
                    }
                }
            const int row = 64 * half + row_of_thread + 8 * r;
            const int column = static_cast<int>(64 * w + 32 * quarter + 8 * lane);
            if (row < place.rows.rows && column < p.head_dim)
                *reinterpret_cast<uint4*>(dq + (place.rows.begin + row) * p.dq_row_stride + column) =
                    make_uint4(words[r][0], words[r][1], words[r][2], words[r][3]);
        }
    }
}

}  // namespace jali::sm90

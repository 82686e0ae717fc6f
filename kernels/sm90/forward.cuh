// Forward attention on sm_90a: a producer warp group and two consumer warp groups of 64 query rows each; blocks take
// (batch, head, query tile) from a counter, heaviest tiles of a head first.
//
// The producer walks the runs of a query tile, loads K(j), then V(j - 1), into two slots each, and hands the stencil of
// a step on beside its K. A consumer computes S(j) = Q K(j)^T while O += P(j - 1) V(j - 1) is under way, and the
// softmax of step j overlaps that second product (FlashAttention-3, arXiv 2407.08608, section 3.2; the running maximum
// is raised only where it grew by more than 2^8, FlashAttention-4).
#pragma once

#include "kernels/fragments.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sm90/forward_parameters.h"
#include "kernels/wgmma.cuh"

namespace jali::sm90 {

template <typename Element, int kHeadDim, int kValueDim>
struct Forward {
    static_assert(kHeadDim % 64 == 0 && kValueDim % 64 == 0);
    static constexpr int kColumns = kHeadDim, kValueColumns = kValueDim;
    static constexpr int kRows = 128;      // of a query tile
    static constexpr int kGroupRows = 64;  // of a consumer warp group
    static constexpr int kKeys = 128;      // of a key tile
    static constexpr int kConsumers = 2;   // warp groups
    static constexpr int kThreads = 128 * (kConsumers + 1);
    static constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
    static_assert(kProducerRegisters + kConsumers * kConsumerRegisters <= 504, "the pool of 384 threads at 168");
    static constexpr int kSlots = 2;  // of K, and of V

    static constexpr uint32_t kQBytes = kRows * kHeadDim * 2;
    static constexpr uint32_t kKBytes = kKeys * kHeadDim * 2;
    static constexpr uint32_t kVBytes = kKeys * kValueDim * 2;
    static constexpr uint32_t kQHalf = kRows * 128;  // 64 columns of a tile
    static constexpr uint32_t kKeyHalf = kKeys * 128;
    static constexpr uint32_t kOutGroupBytes = kGroupRows * kValueDim * 2;

    // Offsets in shared memory, from a base aligned to 1,024 bytes.
    static constexpr uint32_t kQ = 0;
    static constexpr uint32_t kK = kQ + kQBytes;
    static constexpr uint32_t kV = kK + kSlots * kKBytes;
    static constexpr uint32_t kOut = kV + kSlots * kVBytes;
    // mbarriers, 8 bytes each; those of slots one after another.
    static constexpr uint32_t kQFull = kOut + kConsumers * kOutGroupBytes;
    static constexpr uint32_t kQEmpty = kQFull + 8;
    static constexpr uint32_t kKFull = kQEmpty + 8;
    static constexpr uint32_t kKEmpty = kKFull + 8 * kSlots;
    static constexpr uint32_t kVFull = kKEmpty + 8 * kSlots;
    static constexpr uint32_t kVEmpty = kVFull + 8 * kSlots;
    // What the producer tells the consumers: {b, h, begin, rows} and the steps of a query tile (-1: no more work), and
    // the stencil of the key tile in each slot.
    static constexpr uint32_t kTileInfo = kVEmpty + 8 * kSlots;
    static constexpr uint32_t kSteps = kTileInfo + 16;
    static constexpr uint32_t kStencils = kSteps + 16;
    static constexpr uint32_t kEnd = kStencils + 4 * kSlots;
    static_assert(kTileInfo % 16 == 0);
    static constexpr uint32_t kSharedBytes = kEnd + 1024;  // with room to align
    static_assert(kSharedBytes <= 232448, "what a block may have on sm_90");
};

// log2 units by which the running maximum may lag.
inline constexpr float kLazyRescale = 8.0F;
inline constexpr float kLn2 = 0.693147180559945309F;

// One thread of warp 0: all loads.
template <typename Config>
__device__ __forceinline__ void produce(const ForwardParameters& p, uint32_t shared) {
    const DeviceMask& mask = p.mask;
    uint32_t key_steps = 0, tiles = 0;  // V is loaded as often as K
    int32_t b = 0;
    int32_t work = atomicAdd(p.counter, 1);

    const auto load_value = [&](uint32_t step, int32_t begin, int32_t kv_head, int32_t batch) {
        const uint32_t slot = step % Config::kSlots, round = step / Config::kSlots;
        const uint32_t full = shared + Config::kVFull + 8 * slot;
        ptx::mbarrier_wait(shared + Config::kVEmpty + 8 * slot, (round & 1) ^ 1);
        ptx::mbarrier_arrive_expect_tx(full, Config::kVBytes);
        load_tile<Config::kValueColumns, Config::kKeyHalf>(shared + Config::kV + slot * Config::kVBytes, &p.v, full,
                                                           begin, kv_head, batch);
    };

    for (;;) {
        // The (b, h, query tile) of this work item.
        int32_t mask_b = 0, first_tile = 0, q_tiles = 0;
        for (;;) {
            mask_b = mask.batch == 1 ? 0 : b;
            first_tile = mask.q_tile_begin[mask_b];
            q_tiles = mask.q_tile_begin[mask_b + 1] - first_tile;
            const int32_t before = mask.batch == 1 ? b * q_tiles : first_tile;
            if (b >= p.batch || work < (before + q_tiles) * p.q_heads) {
                work -= before * p.q_heads;
                break;
            }
            if (++b >= p.batch) break;
        }
        if (b >= p.batch) break;
        const int32_t h = work / q_tiles, position = work % q_tiles;
        const int32_t mask_h = mask.heads == 1 ? 0 : h;
        const int32_t tile = mask.q_order[mask.heads * first_tile + mask_h * q_tiles + position];
        const DeviceTile q_tile = mask.q_tiles[first_tile + tile];
        const int32_t* offsets = mask.row_offsets + mask.heads * (first_tile + mask_b) + mask_h * (q_tiles + 1) + tile;
        const int32_t first_run = offsets[0], last_run = offsets[1];
        const DeviceTile* kv_tiles = mask.kv_tiles + mask.kv_tile_begin[mask_b];
        const int32_t kv_head = h / p.heads_per_kv_head;
        int32_t steps = 0;
#pragma unroll 1
        for (int32_t r = first_run; r < last_run; ++r) steps += mask.runs[r].tiles;

        const uint32_t q_full = shared + Config::kQFull;
        ptx::mbarrier_wait(shared + Config::kQEmpty, (tiles & 1) ^ 1);
        ptx::store_shared(shared + Config::kTileInfo, make_uint4(b, h, q_tile.begin, q_tile.rows));
        ptx::store_shared(shared + Config::kSteps, static_cast<uint32_t>(steps));
        if (steps > 0) {
            ptx::mbarrier_arrive_expect_tx(q_full, Config::kQBytes);
            load_tile<Config::kColumns, Config::kQHalf>(shared + Config::kQ, &p.q, q_full, q_tile.begin, h, b);
        } else {
            ptx::mbarrier_arrive(q_full);
        }
        ++tiles;

        int32_t previous = -1;  // row where the key tile before this one begins
#pragma unroll 1
        for (int32_t r = first_run; r < last_run; ++r) {
            const DeviceRun run = mask.runs[r];
#pragma unroll 1
            for (int32_t t = 0; t < run.tiles; ++t) {
                const int32_t begin = kv_tiles[run.first_tile + t].begin;
                const uint32_t slot = key_steps % Config::kSlots, round = key_steps / Config::kSlots;
                const uint32_t full = shared + Config::kKFull + 8 * slot;
                ptx::mbarrier_wait(shared + Config::kKEmpty + 8 * slot, (round & 1) ^ 1);
                ptx::store_shared(shared + Config::kStencils + 4 * slot, static_cast<uint32_t>(run.stencil));
                ptx::mbarrier_arrive_expect_tx(full, Config::kKBytes);
                load_tile<Config::kColumns, Config::kKeyHalf>(shared + Config::kK + slot * Config::kKBytes, &p.k, full,
                                                              begin, kv_head, b);
                ++key_steps;
                if (previous >= 0) load_value(key_steps - 2, previous, kv_head, b);
                previous = begin;
            }
        }
        work = atomicAdd(p.counter, 1);
        if (previous >= 0) load_value(key_steps - 1, previous, kv_head, b);
    }
    // No more work: tell the consumers.
    ptx::mbarrier_wait(shared + Config::kQEmpty, (tiles & 1) ^ 1);
    ptx::store_shared(shared + Config::kSteps, ~0U);
    ptx::mbarrier_arrive(shared + Config::kQFull);
}

// For a negative scale: the kernel's own is positive.
template <int kCount>
__device__ __forceinline__ void negate(float (&s)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) s[i] = -s[i];
}

// Keeps the scores whose bits are set: w0 of the lower row, w1 of the upper.
template <int kCount>
__device__ __forceinline__ void apply_stencil(float (&s)[kCount], uint32_t w0, uint32_t w1) {
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
        s[4 * j] = (w0 & (1U << (2 * j))) != 0 ? s[4 * j] : -INFINITY;
        s[4 * j + 1] = (w0 & (2U << (2 * j))) != 0 ? s[4 * j + 1] : -INFINITY;
        s[4 * j + 2] = (w1 & (1U << (2 * j))) != 0 ? s[4 * j + 2] : -INFINITY;
        s[4 * j + 3] = (w1 & (2U << (2 * j))) != 0 ? s[4 * j + 3] : -INFINITY;
    }
}

// The softmax of a thread's two rows, over the steps so far.
struct RowState {
    float maximum[2];  // that the exponentials are relative to; of unscaled scores
    float sum[2];      // this thread's share

    // The largest of the scores of each row, over the four threads that share it.
    template <int kCount>
    static __device__ __forceinline__ void largest(const float (&s)[kCount], float (&m)[2]) {
        m[0] = fmaxf(s[0], s[1]);
        m[1] = fmaxf(s[2], s[3]);
#pragma unroll
        for (int j = 1; j < kCount / 4; ++j) {
            m[0] = fmaxf(m[0], fmaxf(s[4 * j], s[4 * j + 1]));
            m[1] = fmaxf(m[1], fmaxf(s[4 * j + 2], s[4 * j + 3]));
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            m[i] = fmaxf(m[i], __shfl_xor_sync(0xffffffff, m[i], 1));
            m[i] = fmaxf(m[i], __shfl_xor_sync(0xffffffff, m[i], 2));
        }
    }
    __device__ __forceinline__ float bias(int row, float scale_log2) const {
        return maximum[row] == -INFINITY ? 0.0F : -maximum[row] * scale_log2;
    }
    // Scores become exponentials; returns their sums of this thread.
    template <int kCount>
    __device__ __forceinline__ void exponentials(float (&s)[kCount], float scale_log2, float (&sums)[2]) const {
        float bias[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) bias[i] = this->bias(i, scale_log2);
        sums[0] = sums[1] = 0.0F;
#pragma unroll
        for (int j = 0; j < kCount / 4; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) s[4 * j + e] = ptx::ex2(fmaf(s[4 * j + e], scale_log2, bias[e / 2]));
            sums[0] += s[4 * j] + s[4 * j + 1];
            sums[1] += s[4 * j + 2] + s[4 * j + 3];
        }
    }
};

template <typename Element, int kCount>
__device__ __forceinline__ void pack_fragments(const float (&s)[kCount], uint32_t (&fragments)[kCount / 8][4]) {
#pragma unroll
    for (int k = 0; k < kCount / 8; ++k)
#pragma unroll
        for (int i = 0; i < 4; ++i) fragments[k][i] = pack<Element>(s[8 * k + 2 * i], s[8 * k + 2 * i + 1]);
}

template <typename Element, typename Config, int kHeadDim>
__device__ __forceinline__ void issue_scores(float (&s)[64], uint32_t q_low, uint32_t k_low) {
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
        const uint32_t q_offset = ((k / 4) * Config::kQHalf + (k % 4) * 32) / 16;
        const uint32_t k_offset = ((k / 4) * Config::kKeyHalf + (k % 4) * 32) / 16;
        wgmma::ss<Element, 128>(s, wgmma::descriptor(q_low + q_offset), wgmma::descriptor(k_low + k_offset), k != 0);
    }
}
template <typename Element, typename Config, int kValueDim>
__device__ __forceinline__ void issue_values(float (&o)[kValueDim / 2], const uint32_t (&fragments)[8][4],
                                             uint32_t v_low) {
#pragma unroll
    for (int k = 0; k < Config::kKeys / 16; ++k)
        wgmma::rs<Element, kValueDim>(o, fragments[k], wgmma::descriptor(v_low + k * 2048 / 16), 1);
}

// One consumer warp group: 64 query rows of each tile.
template <typename Element, typename Config, int kHeadDim, int kValueDim>
__device__ __forceinline__ void consume(const ForwardParameters& p, uint32_t shared, uint32_t group) {
    const uint32_t thread = threadIdx.x % 128, lane = threadIdx.x % 32, warp = thread / 32;
    const float threshold = kLazyRescale / p.scale_log2;
    uint32_t key_steps = 0, value_steps = 0, tiles = 0;

    const uint32_t q_low = (((shared + Config::kQ + group * Config::kGroupRows * 128) & 0x3ffff) >> 4) | 1U << 16;
    const uint32_t k_base = (((shared + Config::kK) & 0x3ffff) >> 4) | 1U << 16;
    const uint32_t v_base = (((shared + Config::kV) & 0x3ffff) >> 4) | (Config::kKeyHalf / 16) << 16;
    const uint32_t out_shared = shared + Config::kOut + group * Config::kOutGroupBytes;

    for (;;) {
        ptx::mbarrier_wait(shared + Config::kQFull, tiles & 1);
        const int32_t steps = ptx::load_shared_word(shared + Config::kSteps);
        if (steps < 0) break;
        const uint4 info = ptx::load_shared(shared + Config::kTileInfo);
        const auto b = static_cast<int32_t>(info.x), h = static_cast<int32_t>(info.y);
        const auto begin = static_cast<int32_t>(info.z), rows = static_cast<int32_t>(info.w);
        ++tiles;

        float o[kValueDim / 2];
#pragma unroll
        for (int i = 0; i < kValueDim / 2; ++i) o[i] = 0.0F;
        RowState state{{-INFINITY, -INFINITY}, {0.0F, 0.0F}};

        if (steps > 0) {
            float s[64];
            uint32_t fragments[8][4];
            const auto stencil_words = [&](int32_t stencil) {
                return stencil < 0 ? make_uint2(~0U, ~0U)
                                   : ptx::load_nc(reinterpret_cast<const uint2*>(p.mask.stencil_words) +
                                                  (2 * static_cast<int64_t>(stencil) + group) * 128 + thread);
            };
            {
                const uint32_t slot = key_steps % Config::kSlots;
                ptx::mbarrier_wait(shared + Config::kKFull + 8 * slot, (key_steps / Config::kSlots) & 1);
                const int32_t stencil = ptx::load_shared_word(shared + Config::kStencils + 4 * slot);
                const uint2 words = stencil_words(stencil);
                wgmma::fence();
                issue_scores<Element, Config, kHeadDim>(s, q_low, k_base + slot * (Config::kKBytes / 16));
                wgmma::commit_group();
                wgmma::wait_group<0>();
                wgmma::tie(s);
                if (lane == 0) ptx::mbarrier_arrive(shared + Config::kKEmpty + 8 * slot);
                ++key_steps;
                if (p.negate) negate(s);
                if (stencil >= 0) apply_stencil(s, words.x, words.y);
                RowState::largest(s, state.maximum);
                state.exponentials(s, p.scale_log2, state.sum);
                pack_fragments<Element>(s, fragments);
            }
#pragma unroll 1
            for (int32_t step = 1; step < steps; ++step) {
                const uint32_t slot = key_steps % Config::kSlots, value_slot = value_steps % Config::kSlots;
                ptx::mbarrier_wait(shared + Config::kKFull + 8 * slot, (key_steps / Config::kSlots) & 1);
                const int32_t stencil = ptx::load_shared_word(shared + Config::kStencils + 4 * slot);
                const uint2 words = stencil_words(stencil);
                wgmma::fence();
                issue_scores<Element, Config, kHeadDim>(s, q_low, k_base + slot * (Config::kKBytes / 16));
                wgmma::commit_group();
                ptx::mbarrier_wait(shared + Config::kVFull + 8 * value_slot, (value_steps / Config::kSlots) & 1);
                issue_values<Element, Config, kValueDim>(o, fragments, v_base + value_slot * (Config::kVBytes / 16));
                wgmma::commit_group();
                wgmma::wait_group<1>();
                wgmma::tie(s);
                if (lane == 0) ptx::mbarrier_arrive(shared + Config::kKEmpty + 8 * slot);
                ++key_steps;

                if (p.negate) negate(s);
                if (stencil >= 0) apply_stencil(s, words.x, words.y);
                float largest[2], correction[2] = {1.0F, 1.0F}, sums[2];
                RowState::largest(s, largest);
                const bool grew =
                    largest[0] > state.maximum[0] + threshold || largest[1] > state.maximum[1] + threshold;
                const bool rescale = __any_sync(0xffffffff, grew);
                if (rescale) {
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        const float maximum = fmaxf(state.maximum[i], largest[i]);
                        // Nothing kept so far: what is to be corrected is 0.
                        correction[i] = state.maximum[i] == -INFINITY
                                            ? 0.0F
                                            : ptx::ex2((state.maximum[i] - maximum) * p.scale_log2);
                        state.maximum[i] = maximum;
                    }
                }
                state.exponentials(s, p.scale_log2, sums);
                // Else the compiler waits for the second product before the exponentials.
                ptx::store_shared_if(__float_as_uint(sums[0] + sums[1]) == 0xffc00001U, out_shared);
                wgmma::wait_group<0>();
                wgmma::tie(o);
                if (lane == 0) ptx::mbarrier_arrive(shared + Config::kVEmpty + 8 * value_slot);
                ++value_steps;
                if (rescale) {
#pragma unroll
                    for (int i = 0; i < kValueDim / 2; ++i) o[i] *= correction[i % 4 / 2];
                }
#pragma unroll
                for (int i = 0; i < 2; ++i) state.sum[i] = state.sum[i] * correction[i] + sums[i];
                pack_fragments<Element>(s, fragments);
            }
            if (lane == 0) ptx::mbarrier_arrive(shared + Config::kQEmpty);
            const uint32_t value_slot = value_steps % Config::kSlots;
            ptx::mbarrier_wait(shared + Config::kVFull + 8 * value_slot, (value_steps / Config::kSlots) & 1);
            wgmma::fence();
            issue_values<Element, Config, kValueDim>(o, fragments, v_base + value_slot * (Config::kVBytes / 16));
            wgmma::commit_group();
            wgmma::wait_group<0>();
            wgmma::tie(o);
            if (lane == 0) ptx::mbarrier_arrive(shared + Config::kVEmpty + 8 * value_slot);
            ++value_steps;
        } else {
            __syncwarp();  // all lanes have read what the producer writes next
            if (lane == 0) ptx::mbarrier_arrive(shared + Config::kQEmpty);
        }

        const int32_t group_rows =
            rows - static_cast<int32_t>(group) * Config::kGroupRows;  // of this group; may be <= 0
        const int32_t row = static_cast<int32_t>(16 * warp + lane / 4);
        float inverse[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float sum = state.sum[i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            inverse[i] = sum > 0.0F ? 1.0F / sum : 0.0F;
            if (p.lse != nullptr && lane % 4 == 0 && row + 8 * i < group_rows) {
                const int64_t at =
                    b * p.lse_batch_stride + h * p.lse_head_stride +
                    static_cast<int64_t>(begin + static_cast<int32_t>(group) * Config::kGroupRows + row + 8 * i) *
                        p.lse_row_stride;
                // The exponentials are relative to the bias as rounded; scale_rest is what scale_log2 lost.
                const float bias = state.bias(i, p.scale_log2);
                p.lse[at] = sum > 0.0F ? fmaf(ptx::lg2(sum) - bias, kLn2, state.maximum[i] * p.scale_rest) : -INFINITY;
            }
        }

        // The store of the tile before has read its shared memory.
        if (thread == 0) ptx::bulk_wait_group_read<0>();
        ptx::named_barrier_sync(1 + group, 128);
#pragma unroll
        for (int k = 0; k < kValueDim / 16; ++k) {
            const uint32_t out_row = 16 * warp + lane % 16;
            const uint32_t chunk = (2 * k + lane / 16) % 8;  // 16 bytes of the 128 of a row
            const uint32_t address =
                out_shared + (k / 4) * (Config::kGroupRows * 128) + out_row * 128 + ((chunk ^ (out_row % 8)) * 16);
            uint32_t packed[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                packed[i] = pack<Element>(o[8 * k + 2 * i] * inverse[i % 2], o[8 * k + 2 * i + 1] * inverse[i % 2]);
            ptx::stmatrix_x4(address, packed[0], packed[1], packed[2], packed[3]);
        }
        const int32_t first_row = begin + static_cast<int32_t>(group) * Config::kGroupRows;
        if (group_rows >= Config::kGroupRows) {
            ptx::fence_proxy_async();
            ptx::named_barrier_sync(1 + group, 128);
            if (thread == 0) {
#pragma unroll
                for (int half = 0; half < kValueDim / 64; ++half)
                    ptx::tma_store_4d(&p.out, out_shared + half * Config::kGroupRows * 128, 64 * half, first_row, h, b);
                ptx::bulk_commit_group();
            }
        } else {
            ptx::named_barrier_sync(1 + group, 128);
            auto* out = static_cast<Element*>(p.out_pointer) + b * p.out_batch_stride + h * p.out_head_stride;
            constexpr int kChunks = kValueDim / 8;
            for (int32_t i = static_cast<int32_t>(thread); i < group_rows * kChunks; i += 128) {
                const uint32_t out_row = i / kChunks, chunk = i % kChunks;
                if (static_cast<int32_t>(8 * chunk) >= p.value_dim) continue;
                const uint4 value = ptx::load_shared(out_shared + (chunk / 8) * (Config::kGroupRows * 128) +
                                                     out_row * 128 + (((chunk % 8) ^ (out_row % 8)) * 16));
                *reinterpret_cast<uint4*>(out + (first_row + static_cast<int64_t>(out_row)) * p.out_row_stride +
                                          chunk * 8) = value;
            }
        }
    }
    if (thread == 0) ptx::bulk_wait_group_read<0>();
}

template <typename Element, int kHeadDim, int kValueDim>
__device__ __forceinline__ void forward(const ForwardParameters& p) {
    using Config = Forward<Element, kHeadDim, kValueDim>;
    extern __shared__ uint8_t storage[];
    const uint32_t unaligned = ptx::shared_address(storage);
    const uint32_t padding = (1024 - unaligned % 1024) % 1024;
    const uint32_t shared = unaligned + padding;

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(shared + Config::kQFull, 1);
        ptx::mbarrier_init(shared + Config::kQEmpty, 4 * Config::kConsumers);
        for (int i = 0; i < Config::kSlots; ++i) {
            ptx::mbarrier_init(shared + Config::kKFull + 8 * i, 1);
            ptx::mbarrier_init(shared + Config::kKEmpty + 8 * i, 4 * Config::kConsumers);
            ptx::mbarrier_init(shared + Config::kVFull + 8 * i, 1);
            ptx::mbarrier_init(shared + Config::kVEmpty + 8 * i, 4 * Config::kConsumers);
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();

    const uint32_t group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    if (group == 0) {
        ptx::setmaxnreg_dec<Config::kProducerRegisters>();
        if (threadIdx.x == 0) {
            ptx::prefetch_tensormap(&p.q);
            ptx::prefetch_tensormap(&p.k);
            ptx::prefetch_tensormap(&p.v);
            produce<Config>(p, shared);
        }
    } else {
        ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
        consume<Element, Config, kHeadDim, kValueDim>(p, shared, group - 1);
    }
}

}  // namespace jali::sm90

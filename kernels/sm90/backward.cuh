// Backward attention on sm_90a, main kernel: one block has a key tile of 128 keys of one (batch, key head), walks the
// query half tiles (64 rows) that visit it, for every query head of the group, and keeps dK and dV in registers.
//
// Warps of the first warp group: 3 walks the mask and describes tiles and steps in a ring; 0 loads what they name; 1
// and 2 add dQ of one consumer group each to global memory by bulk reduction. A consumer group has 64 of the keys:
//     S^T = K Q^T, dP^T = V dO^T, P^T = exp(S^T - lse), dS^T = P^T (dP^T - delta),
//     dV += P^T dO, dK += dS^T Q, and of dQ = dS K the 64 columns of its half
// (FlashAttention-3, arXiv 2407.08608, section 3; gradients as FlashAttention-2 section 3.1).
#pragma once

#include "kernels/fragments.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sm90/backward_parameters.h"
#include "kernels/wgmma.cuh"

namespace jali::sm90 {

template <typename Element, int kDim>
struct Backward {
    static_assert(kDim == 128, "a group holds one 64-column half of dQ");
    static constexpr int kColumns = kDim;
    static constexpr int kKeys = 128;
    static constexpr int kRows = 64;       // of a step: half a query tile
    static constexpr int kGroupKeys = 64;  // of a consumer warp group
    static constexpr int kConsumers = 2;
    static constexpr int kThreads = 128 * (kConsumers + 1);
    static constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
    static_assert(kProducerRegisters + kConsumers * kConsumerRegisters <= 504, "the pool of 384 threads at 168");
    static constexpr int kStages = 2;  // of Q and dO
    static constexpr int kRing = 8;    // descriptions of tiles and steps

    static constexpr uint32_t kKBytes = kKeys * kDim * 2;
    static constexpr uint32_t kQBytes = kRows * kDim * 2;
    static constexpr uint32_t kRowBytes = kRows * 4;  // lse or delta of a step
    static constexpr uint32_t kKeyHalf = kKeys * 128, kRowHalf = kRows * 128;
    static constexpr uint32_t kDsBytes = kKeys * kRows * 2;
    static constexpr uint32_t kDqBytes = kRows * 64 * 4;  // of one group

    // Offsets in shared memory, from a base aligned to 1,024 bytes.
    static constexpr uint32_t kK = 0;
    static constexpr uint32_t kV = kK + kKBytes;
    static constexpr uint32_t kQ = kV + kKBytes;
    static constexpr uint32_t kDo = kQ + kStages * kQBytes;
    static constexpr uint32_t kDs = kDo + kStages * kQBytes;
    static constexpr uint32_t kDq = kDs + 2 * kDsBytes;
    static constexpr uint32_t kLse = kDq + kConsumers * kDqBytes;
    static constexpr uint32_t kDelta = kLse + kStages * kRowBytes;
    static constexpr uint32_t kRingEntries = kDelta + kStages * kRowBytes;  // 32 bytes each
    // mbarriers, 8 bytes each.
    static constexpr uint32_t kRingFull = kRingEntries + 32 * kRing;
    static constexpr uint32_t kRingEmpty = kRingFull + 8 * kRing;
    static constexpr uint32_t kKFull = kRingEmpty + 8 * kRing;
    static constexpr uint32_t kVFull = kKFull + 8;
    static constexpr uint32_t kKvEmpty = kVFull + 8;
    static constexpr uint32_t kQFull = kKvEmpty + 8;
    static constexpr uint32_t kQEmpty = kQFull + 8 * kStages;
    static constexpr uint32_t kDoFull = kQEmpty + 8 * kStages;
    static constexpr uint32_t kDoEmpty = kDoFull + 8 * kStages;
    static constexpr uint32_t kDqFull = kDoEmpty + 8 * kStages;  // by group
    static constexpr uint32_t kDqEmpty = kDqFull + 8 * kConsumers;
    static constexpr uint32_t kDqSlot = kDqEmpty + 8 * kConsumers;  // where a group's dQ goes; -1: no more
    static constexpr uint32_t kEnd = kDqSlot + 4 * kConsumers;
    static constexpr uint32_t kSharedBytes = kEnd + 1024;
    static_assert(kSharedBytes <= 232448, "what a block may have on sm_90");
};

// An entry of the ring: a key tile and the steps that follow it up to the next, or the end.
struct RingEntry {
    int32_t stencil;  // of a step; -1 full; one of the two below otherwise
    int32_t begin;    // first row of the step's queries or of the tile's keys
    int32_t head;     // query head of a step, key head of a tile
    int32_t slot;     // half slot of a step, rows of a tile
    int32_t batch;
};
inline constexpr int32_t kTile = -2, kNoMoreWork = -3;
__device__ __forceinline__ bool is_step(const RingEntry& entry) {
    return entry.stencil > kTile;
}

template <typename Config>
__device__ __forceinline__ void write_entry(uint32_t shared, uint32_t& entries, const RingEntry& entry) {
    const uint32_t slot = entries % Config::kRing;
    ptx::mbarrier_wait(shared + Config::kRingEmpty + 8 * slot, (entries / Config::kRing & 1) ^ 1);
    const uint32_t address = shared + Config::kRingEntries + 32 * slot;
    ptx::store_shared(address, make_uint4(entry.stencil, entry.begin, entry.head, entry.slot));
    ptx::store_shared(address + 16, static_cast<uint32_t>(entry.batch));
    ptx::mbarrier_arrive(shared + Config::kRingFull + 8 * slot);
    ++entries;
}

// Waits for the entry; the caller releases it.
template <typename Config>
__device__ __forceinline__ RingEntry read_entry(uint32_t shared, uint32_t entries) {
    const uint32_t slot = entries % Config::kRing;
    ptx::mbarrier_wait(shared + Config::kRingFull + 8 * slot, entries / Config::kRing & 1);
    const uint32_t address = shared + Config::kRingEntries + 32 * slot;
    const uint4 words = ptx::load_shared(address);
    return {static_cast<int32_t>(words.x), static_cast<int32_t>(words.y), static_cast<int32_t>(words.z),
            static_cast<int32_t>(words.w), ptx::load_shared_word(address + 16)};
}
template <typename Config>
__device__ __forceinline__ void release_entry(uint32_t shared, uint32_t entries) {
    ptx::mbarrier_arrive(shared + Config::kRingEmpty + 8 * (entries % Config::kRing));
}

// Warp 3, one thread: takes key tiles from the counter, heaviest of a head first, and describes their steps.
template <typename Config>
__device__ __forceinline__ void schedule(const BackwardParameters& p, uint32_t shared) {
    const DeviceMask& mask = p.mask;
    uint32_t entries = 0;
    int32_t b = 0;
    const int32_t q_heads = p.kv_heads * p.heads_per_kv_head;
#pragma unroll 1
    for (;;) {
        int32_t work = atomicAdd(p.counter, 1);
        int32_t mask_b = 0, first_tile = 0, kv_tiles = 0;
        for (;;) {
            mask_b = mask.batch == 1 ? 0 : b;
            first_tile = mask.kv_tile_begin[mask_b];
            kv_tiles = mask.kv_tile_begin[mask_b + 1] - first_tile;
            const int32_t before = mask.batch == 1 ? b * kv_tiles : first_tile;
            if (work < (before + kv_tiles) * p.kv_heads) {
                work -= before * p.kv_heads;
                break;
            }
            if (++b >= p.batch) break;
        }
        if (b >= p.batch) break;
        const int32_t kv_head = work / kv_tiles;
        int32_t h = kv_head * p.heads_per_kv_head;
        const int32_t tile =
            mask.kv_order[mask.heads * first_tile + (mask.heads == 1 ? 0 : h) * kv_tiles + work % kv_tiles];
        const int32_t first_q_tile = mask.q_tile_begin[mask_b];
        const int32_t q_tiles = mask.q_tile_begin[mask_b + 1] - first_q_tile;
        int32_t slot = (mask.batch == 1 ? b * q_tiles : first_q_tile) * q_heads + h * q_tiles;
        int32_t offset = mask.heads * (first_tile + mask_b) + (mask.heads == 1 ? 0 : h * (kv_tiles + 1)) + tile;
        {
            const DeviceTile kv_tile = mask.kv_tiles[first_tile + tile];
            write_entry<Config>(shared, entries, {kTile, kv_tile.begin, kv_head, kv_tile.rows, b});
        }
#pragma unroll 1
        do {
#pragma unroll 1
            for (int32_t r = mask.column_offsets[offset]; r < mask.column_offsets[offset + 1]; ++r) {
                const DeviceRun run = mask.column_runs[r];
#pragma unroll 1
                for (int32_t t = 0; t < run.tiles; ++t) {
                    const DeviceTile rows =
                        mask.q_tiles[mask.q_tile_begin[mask.batch == 1 ? 0 : b] + run.first_tile + t];
#pragma unroll 1
                    for (int32_t half = 0; half * Config::kRows < rows.rows; ++half)
                        write_entry<Config>(shared, entries,
                                            {run.stencil, rows.begin + half * Config::kRows, h,
                                             2 * (slot + run.first_tile + t) + half, b});
                }
            }
            // Counts are read again: carried over the loops they would cost registers.
            const int32_t tiles_of = mask.batch == 1 ? 0 : b;
            slot += mask.q_tile_begin[tiles_of + 1] - mask.q_tile_begin[tiles_of];
            if (mask.heads != 1) offset += mask.kv_tile_begin[tiles_of + 1] - mask.kv_tile_begin[tiles_of] + 1;
        } while (++h % p.heads_per_kv_head != 0);
    }
    write_entry<Config>(shared, entries, {kNoMoreWork, 0, 0, 0, 0});
}

// Warp 0, one thread: all loads.
template <typename Config>
__device__ __forceinline__ void load(const BackwardParameters& p, uint32_t shared) {
    uint32_t entries = 0, steps = 0, tiles = 0;
    RingEntry tile{};
    bool fresh = false;  // nothing of the tile is loaded yet
#pragma unroll 1
    for (;;) {
        const RingEntry step = read_entry<Config>(shared, entries);
        release_entry<Config>(shared, entries++);
        if (step.stencil == kNoMoreWork) break;
        if (step.stencil == kTile) {
            tile = step;
            fresh = true;
            continue;
        }
        if (fresh) {
            ptx::mbarrier_wait(shared + Config::kKvEmpty, (tiles++ & 1) ^ 1);
            ptx::mbarrier_arrive_expect_tx(shared + Config::kKFull, Config::kKBytes);
            load_tile<Config::kColumns, Config::kKeyHalf>(shared + Config::kK, &p.k, shared + Config::kKFull,
                                                          tile.begin, tile.head, tile.batch);
        }
        const uint32_t stage = steps % Config::kStages, parity = (steps / Config::kStages & 1) ^ 1;
        ++steps;
        const uint32_t q_full = shared + Config::kQFull + 8 * stage, do_full = shared + Config::kDoFull + 8 * stage;
        ptx::mbarrier_wait(shared + Config::kQEmpty + 8 * stage, parity);
        ptx::mbarrier_arrive_expect_tx(q_full, Config::kQBytes + Config::kRowBytes);
        load_tile<Config::kColumns, Config::kRowHalf>(shared + Config::kQ + stage * Config::kQBytes, &p.q, q_full,
                                                      step.begin, step.head, step.batch);
        ptx::bulk_load(shared + Config::kLse + stage * Config::kRowBytes,
                       p.lse_log2 + static_cast<int64_t>(step.slot) * Config::kRows, Config::kRowBytes, q_full);
        if (fresh) {
            ptx::mbarrier_arrive_expect_tx(shared + Config::kVFull, Config::kKBytes);
            load_tile<Config::kColumns, Config::kKeyHalf>(shared + Config::kV, &p.v, shared + Config::kVFull,
                                                          tile.begin, tile.head, tile.batch);
            fresh = false;
        }
        ptx::mbarrier_wait(shared + Config::kDoEmpty + 8 * stage, parity);
        ptx::mbarrier_arrive_expect_tx(do_full, Config::kQBytes + Config::kRowBytes);
        load_tile<Config::kColumns, Config::kRowHalf>(shared + Config::kDo + stage * Config::kQBytes, &p.dout, do_full,
                                                      step.begin, step.head, step.batch);
        ptx::bulk_load(shared + Config::kDelta + stage * Config::kRowBytes,
                       p.delta + static_cast<int64_t>(step.slot) * Config::kRows, Config::kRowBytes, do_full);
    }
}

// Warps 1 and 2, one thread each: a consumer group's dQ goes to global memory. The first to bring the dQ of a half slot
// stores it, so that nobody need write zeros before; later ones wait for that store and add.
template <typename Config>
__device__ __forceinline__ void reduce(const BackwardParameters& p, uint32_t shared, uint32_t group) {
    const uint32_t dq = shared + Config::kDq + group * Config::kDqBytes;
#pragma unroll 1
    for (uint32_t step = 0;; ++step) {
        ptx::mbarrier_wait(shared + Config::kDqFull + 8 * group, step & 1);
        const int32_t slot = ptx::load_shared_word(shared + Config::kDqSlot + 4 * group);
        if (slot < 0) break;
        const int64_t part = static_cast<int64_t>(slot) * 2 + group;
        float* sums = p.dq_sums + part * (Config::kDqBytes / 4);
        int32_t* state = p.dq_states + part;
        int32_t seen = ptx::load_acquire(state);
        if (seen == kNothing) seen = atomicCAS(state, kNothing, kBeingStored);
        if (seen == kNothing) {
            ptx::bulk_store(sums, dq, Config::kDqBytes);
            ptx::bulk_commit_group();
            ptx::bulk_wait_group<0>();
            ptx::store_release(state, kStored);
        } else {
            while (seen != kStored) seen = ptx::load_acquire(state);
            ptx::bulk_reduce_add(sums, dq, Config::kDqBytes);
            ptx::bulk_commit_group();
            ptx::bulk_wait_group_read<0>();
        }
        ptx::mbarrier_arrive(shared + Config::kDqEmpty + 8 * group);
    }
    ptx::bulk_wait_group<0>();
}

// Writes a group's dK or dV: 64 keys by 128 columns, times `factor`, through 16 KB of shared memory.
template <typename Element, typename Config>
__device__ __forceinline__ void write_gradient(const float (&gradient)[64], float factor, uint32_t staging,
                                               uint32_t group, Element* out, int64_t row_stride, int32_t rows,
                                               int32_t columns) {
    const uint32_t thread = threadIdx.x % 128, lane = threadIdx.x % 32, warp = thread / 32;
    ptx::named_barrier_sync(2 + group, 128);  // the staging is free: read by all of the group
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const uint32_t row = 16 * warp + lane % 16, chunk = 2 * k + lane / 16;
        uint32_t packed[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            packed[i] = pack<Element>(gradient[8 * k + 2 * i] * factor, gradient[8 * k + 2 * i + 1] * factor);
        ptx::stmatrix_x4(staging + row * 256 + ((chunk ^ (row % 8)) * 16), packed[0], packed[1], packed[2], packed[3]);
    }
    ptx::named_barrier_sync(2 + group, 128);
    for (int32_t i = static_cast<int32_t>(thread); i < rows * 16; i += 128) {
        const uint32_t row = i / 16, chunk = i % 16;
        if (static_cast<int32_t>(8 * chunk) >= columns) continue;
        *reinterpret_cast<uint4*>(out + row * row_stride + chunk * 8) =
            ptx::load_shared(staging + row * 256 + ((chunk ^ (row % 8)) * 16));
    }
}

template <typename Element, typename Config>
__device__ __forceinline__ void consume(const BackwardParameters& p, uint32_t shared, uint32_t group) {
    const uint32_t thread = threadIdx.x % 128, lane = threadIdx.x % 32, warp = thread / 32;
    uint32_t entries = 0, steps = 0, tiles = 0;

    const auto low = [](uint32_t address, uint32_t leading) {
        return ((address & 0x3ffff) >> 4) | (leading / 16) << 16;
    };
    const uint32_t k_low = low(shared + Config::kK + group * Config::kGroupKeys * 128, 16);
    const uint32_t v_low = low(shared + Config::kV + group * Config::kGroupKeys * 128, 16);
    const uint32_t k_half_low = low(shared + Config::kK + group * Config::kKeyHalf, 16);
    const uint32_t dq_shared = shared + Config::kDq + group * Config::kDqBytes;

    const auto next_entry = [&] {
        const RingEntry entry = read_entry<Config>(shared, entries);
        __syncwarp();
        if (lane == 0) release_entry<Config>(shared, entries);
        ++entries;
        return entry;
    };
    const auto stencil_word = [&](const RingEntry& step) {
        return step.stencil < 0
                   ? ~0U
                   : ptx::load_nc(p.mask.transposed_words +
                                  ((2 * static_cast<int64_t>(step.stencil) + (step.slot & 1)) * 2 + group) * 128 +
                                  thread);
    };
    RingEntry next = next_entry();
#pragma unroll 1
    while (next.stencil != kNoMoreWork) {
        const RingEntry tile = next;
        const uint32_t steps_before = steps;

        float dk[64], dv[64];
#pragma unroll
        for (int i = 0; i < 64; ++i) dk[i] = dv[i] = 0.0F;

        next = next_entry();
        uint32_t next_word = stencil_word(next);
#pragma unroll 1
        while (is_step(next)) {
            const uint32_t stage = steps % Config::kStages, parity = steps / Config::kStages & 1;
            const int32_t stencil = next.stencil, slot = next.slot;
            const uint32_t word = next_word;
            if (steps == steps_before) ptx::mbarrier_wait(shared + Config::kKFull, tiles & 1);

            // The bases of this step, derived here: carried over the loop they would cost registers.
            const uint32_t q_shared = shared + Config::kQ + stage * Config::kQBytes;
            const uint32_t do_shared = shared + Config::kDo + stage * Config::kQBytes;
            const uint32_t q_low = low(q_shared, Config::kRowHalf), do_low = low(do_shared, Config::kRowHalf);
            const uint32_t ds_shared = shared + Config::kDs + (steps & 1) * Config::kDsBytes;

            float s[32], dp[32];
            ptx::mbarrier_wait(shared + Config::kQFull + 8 * stage, parity);
            wgmma::fence();
#pragma unroll
            for (int k = 0; k < 8; ++k)
                wgmma::ss<Element, 64>(s, wgmma::descriptor(k_low + ((k / 4) * Config::kKeyHalf + (k % 4) * 32) / 16),
                                       wgmma::descriptor(q_low + ((k / 4) * Config::kRowHalf + (k % 4) * 32) / 16),
                                       k != 0);
            wgmma::commit_group();
            if (steps == steps_before) ptx::mbarrier_wait(shared + Config::kVFull, tiles & 1);
            ptx::mbarrier_wait(shared + Config::kDoFull + 8 * stage, parity);
#pragma unroll
            for (int k = 0; k < 8; ++k)
                wgmma::ss<Element, 64>(dp, wgmma::descriptor(v_low + ((k / 4) * Config::kKeyHalf + (k % 4) * 32) / 16),
                                       wgmma::descriptor(do_low + ((k / 4) * Config::kRowHalf + (k % 4) * 32) / 16),
                                       k != 0);
            wgmma::commit_group();
            wgmma::wait_group<0>();
            wgmma::tie(s);
            wgmma::tie(dp);

            if (p.negate) {
#pragma unroll
                for (int e = 0; e < 32; ++e) s[e] = -s[e];
            }
            if (stencil >= 0) {
#pragma unroll
                for (int e = 0; e < 32; ++e) s[e] = (word & (1U << e)) != 0 ? s[e] : -INFINITY;
            }
            uint32_t p_fragments[4][4], ds_fragments[4][4];
            const uint32_t lse_shared = shared + Config::kLse + stage * Config::kRowBytes + 8 * (lane % 4);
            const uint32_t delta_shared = shared + Config::kDelta + stage * Config::kRowBytes + 8 * (lane % 4);
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const float2 lse = ptx::load_shared_pair(lse_shared + 32 * j);
                const float2 delta = ptx::load_shared_pair(delta_shared + 32 * j);
                float weights[4], gradients[4];
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    weights[e] = ptx::ex2(fmaf(s[4 * j + e], p.scale_log2, e % 2 == 0 ? -lse.x : -lse.y));
                    gradients[e] = weights[e] * (dp[4 * j + e] - (e % 2 == 0 ? delta.x : delta.y));
                }
                p_fragments[j / 2][2 * (j % 2)] = pack<Element>(weights[0], weights[1]);
                p_fragments[j / 2][2 * (j % 2) + 1] = pack<Element>(weights[2], weights[3]);
                ds_fragments[j / 2][2 * (j % 2)] = pack<Element>(gradients[0], gradients[1]);
                ds_fragments[j / 2][2 * (j % 2) + 1] = pack<Element>(gradients[2], gradients[3]);
            }
            // dS as [key][query], 128 bytes a key, swizzled.
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const uint32_t key = Config::kGroupKeys * group + 16 * warp + lane % 16, chunk = 2 * k + lane / 16;
                ptx::stmatrix_x4(ds_shared + key * 128 + ((chunk ^ (key % 8)) * 16), ds_fragments[k][0],
                                 ds_fragments[k][1], ds_fragments[k][2], ds_fragments[k][3]);
            }
            wgmma::fence();
#pragma unroll
            for (int k = 0; k < 4; ++k)
                wgmma::rs<Element, 128>(dv, p_fragments[k], wgmma::descriptor(do_low + k * 2048 / 16), 1);
            wgmma::commit_group();
            ptx::fence_proxy_async();
            ptx::named_barrier_sync(1, 256);

            float dq[32];
            const uint32_t ds_low = low(ds_shared, 16);
            wgmma::fence();
#pragma unroll
            for (int k = 0; k < 8; ++k)
                wgmma::ss_transposed<Element, 64>(dq, wgmma::descriptor(ds_low + k * 2048 / 16),
                                                  wgmma::descriptor(k_half_low + k * 2048 / 16), k != 0);
            wgmma::commit_group();
            wgmma::wait_group<1>();
            wgmma::tie(dv);
            if (lane == 0) ptx::mbarrier_arrive(shared + Config::kDoEmpty + 8 * stage);
#pragma unroll
            for (int k = 0; k < 4; ++k)
                wgmma::rs<Element, 128>(dk, ds_fragments[k], wgmma::descriptor(q_low + k * 2048 / 16), 1);
            wgmma::commit_group();
            // What comes next, read while products are under way.
            next = next_entry();
            next_word = stencil_word(next);
            wgmma::wait_group<1>();
            wgmma::tie(dq);
            // The reduction of the step before has read its shared memory.
            ptx::mbarrier_wait(shared + Config::kDqEmpty + 8 * group, (steps & 1) ^ 1);
#pragma unroll
            for (int k = 0; k < 8; ++k)
                ptx::store_shared(dq_shared + k * 2048 + thread * 16, dq[4 * k], dq[4 * k + 1], dq[4 * k + 2],
                                  dq[4 * k + 3]);
            if (thread == 0) ptx::store_shared(shared + Config::kDqSlot + 4 * group, static_cast<uint32_t>(slot));
            ptx::fence_proxy_async();
            __syncwarp();
            if (lane == 0) ptx::mbarrier_arrive(shared + Config::kDqFull + 8 * group);
            wgmma::wait_group<0>();
            wgmma::tie(dk);
            if (lane == 0) ptx::mbarrier_arrive(shared + Config::kQEmpty + 8 * stage);
            ++steps;
        }
        if (steps != steps_before) {
            if (lane == 0) ptx::mbarrier_arrive(shared + Config::kKvEmpty);
            ++tiles;
        }
        // dV, then dK, through the group's own dQ, once the last reduction has read it.
        ptx::mbarrier_wait(shared + Config::kDqEmpty + 8 * group, (steps & 1) ^ 1);
        const int32_t first_key = static_cast<int32_t>(group) * Config::kGroupKeys;
        const int32_t rows = min(tile.slot - first_key, Config::kGroupKeys);
        const int64_t row = tile.begin + first_key;
        write_gradient<Element, Config>(dv, 1.0F, dq_shared, group,
                                        static_cast<Element*>(p.dv) + tile.batch * p.dv_batch_stride +
                                            tile.head * p.dv_head_stride + row * p.dv_row_stride,
                                        p.dv_row_stride, rows, p.value_dim);
        write_gradient<Element, Config>(dk, p.scale, dq_shared, group,
                                        static_cast<Element*>(p.dk) + tile.batch * p.dk_batch_stride +
                                            tile.head * p.dk_head_stride + row * p.dk_row_stride,
                                        p.dk_row_stride, rows, p.head_dim);
        ptx::named_barrier_sync(2 + group, 128);
    }
    if (thread == 0) ptx::store_shared(shared + Config::kDqSlot + 4 * group, ~0U);
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(shared + Config::kDqFull + 8 * group);
}

template <typename Element, int kDim>
__device__ __forceinline__ void backward(const BackwardParameters& p) {
    using Config = Backward<Element, kDim>;
    extern __shared__ uint8_t storage[];
    const uint32_t unaligned = ptx::shared_address(storage);
    const uint32_t shared = unaligned + (1024 - unaligned % 1024) % 1024;
    if (threadIdx.x == 0) {
        constexpr uint32_t kWarps = 4 * Config::kConsumers;
        for (int i = 0; i < Config::kRing; ++i) {
            ptx::mbarrier_init(shared + Config::kRingFull + 8 * i, 1);
            ptx::mbarrier_init(shared + Config::kRingEmpty + 8 * i, kWarps + 1);
        }
        ptx::mbarrier_init(shared + Config::kKFull, 1);
        ptx::mbarrier_init(shared + Config::kVFull, 1);
        ptx::mbarrier_init(shared + Config::kKvEmpty, kWarps);
        for (int i = 0; i < Config::kStages; ++i) {
            ptx::mbarrier_init(shared + Config::kQFull + 8 * i, 1);
            ptx::mbarrier_init(shared + Config::kQEmpty + 8 * i, kWarps);
            ptx::mbarrier_init(shared + Config::kDoFull + 8 * i, 1);
            ptx::mbarrier_init(shared + Config::kDoEmpty + 8 * i, kWarps);
        }
        for (int i = 0; i < Config::kConsumers; ++i) {
            ptx::mbarrier_init(shared + Config::kDqFull + 8 * i, 4);
            ptx::mbarrier_init(shared + Config::kDqEmpty + 8 * i, 1);
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();

    const uint32_t group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    if (group == 0) {
        ptx::setmaxnreg_dec<Config::kProducerRegisters>();
        const uint32_t warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
        if (threadIdx.x % 32 != 0) return;
        if (warp == 0) {
            load<Config>(p, shared);
        } else if (warp == 3) {
            schedule<Config>(p, shared);
        } else {
            reduce<Config>(p, shared, warp - 1);
        }
    } else {
        ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
        consume<Element, Config>(p, shared, group - 1);
    }
}

}  // namespace jali::sm90

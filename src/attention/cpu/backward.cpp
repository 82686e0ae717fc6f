// Backward: scores are computed again from q, k and lse. One unit of work a key tile of a group, see
// backward_schedule.h; five products a tile pair, all on transposed scores.
#include <algorithm>
#include <numeric>
#include <thread>

#include "attention/cpu/backward_schedule.h"
#include "attention/cpu/engine.h"
#include "attention/cpu/workers.h"

namespace jali::cpu {

namespace {

struct BackwardArrays {
    Matrix keys, dk;                        // [keys x D]
    Matrix values, dv;                      // [keys x Dv]
    Matrix q_rows, dout_rows;               // [queries x D or Dv]
    Matrix q_columns, dout_columns;         // [D or Dv x queries]
    Matrix out_columns;                     // [Dv x queries]
    Matrix probabilities, score_gradients;  // [keys x queries]
    float *lse, *delta;                     // by query
};

int64_t floats_of_arrays(int32_t head_dim, int32_t v_head_dim) {
    return 3 * kTileRows * (scratch_stride(head_dim) + scratch_stride(v_head_dim)) +
           (padded(head_dim) + 2 * padded(v_head_dim) + 2 * kTileRows) * scratch_stride(kTileRows) + 2 * kTileRows;
}

BackwardArrays divide(float* scratch, int32_t head_dim, int32_t v_head_dim) {
    const auto take = [&scratch](int32_t rows, int64_t stride) {
        const Matrix matrix{scratch, stride};
        scratch += rows * stride;
        return matrix;
    };
    const int64_t wide = scratch_stride(head_dim), v_wide = scratch_stride(v_head_dim);
    BackwardArrays arrays{};
    arrays.keys = take(kTileRows, wide);
    arrays.dk = take(kTileRows, wide);
    arrays.q_rows = take(kTileRows, wide);
    arrays.values = take(kTileRows, v_wide);
    arrays.dv = take(kTileRows, v_wide);
    arrays.dout_rows = take(kTileRows, v_wide);
    arrays.q_columns = take(padded(head_dim), scratch_stride(kTileRows));
    arrays.dout_columns = take(padded(v_head_dim), scratch_stride(kTileRows));
    arrays.out_columns = take(padded(v_head_dim), scratch_stride(kTileRows));
    arrays.probabilities = take(kTileRows, scratch_stride(kTileRows));
    arrays.score_gradients = take(kTileRows, scratch_stride(kTileRows));
    arrays.lse = take(1, kTileRows).data;
    arrays.delta = take(1, kTileRows).data;
    return arrays;
}

// What every worker of a call shares.
struct Backward {
    const Primitives& cpu;
    const BackwardCall& call;
    int32_t head_dim, v_head_dim;
    int64_t q_heads, kv_heads, group_heads, q_len, most_q_tiles;
    std::vector<float> delta;  // [b][h][q]: sum of dout * out, less dlse
};

// delta of up to a tile of queries.
void compute_delta(Backward& backward, int64_t b, int64_t h, Tile queries, const BackwardArrays& arrays) {
    const BackwardTensors& t = backward.call.tensors;
    const Primitives& cpu = backward.cpu;
    cpu.load_columns(tile_rows(t.out, b, h, queries), arrays.out_columns);
    cpu.load_columns(tile_rows(t.dout, b, h, queries), arrays.dout_columns);
    cpu.dot_columns(arrays.out_columns, arrays.dout_columns, backward.v_head_dim, queries.rows, arrays.delta);
    float* delta = backward.delta.data() + (b * backward.q_heads + h) * backward.q_len + queries.begin;
    for (int32_t query = 0; query < queries.rows; ++query) {
        const float dlse = t.dlse.data == nullptr ? 0.0F : *row_value(t.dlse, b, h, queries.begin + query);
        delta[query] = arrays.delta[query] - dlse;
    }
}

// Tile `index` of the aligned grid over the queries: what needs no mask is done by these.
Tile aligned_queries(const Backward& backward, int64_t index) {
    const int64_t begin = index * kTileRows;
    return {static_cast<int32_t>(begin), static_cast<int32_t>(std::min<int64_t>(kTileRows, backward.q_len - begin))};
}

void compute_deltas(Backward& backward, int threads, Scratch& scratch) {
    const int64_t tiles = (backward.q_len + kTileRows - 1) / kTileRows;
    const int64_t units = backward.call.tensors.q.shape[0] * backward.q_heads * tiles;
    std::atomic<int64_t> next{0};
    run_workers(threads, [&](int worker) {
        const BackwardArrays arrays = divide(scratch.of(worker), backward.head_dim, backward.v_head_dim);
        for (int64_t u = next++; u < units; u = next++) {
            const int64_t head = u / tiles;
            compute_delta(backward, head / backward.q_heads, head % backward.q_heads,
                          aligned_queries(backward, u % tiles), arrays);
        }
    });
}

// How many key tiles of this query tile come before `kv_tile` in the order of sums.
int32_t turn_of(const HeadView& head, int32_t q_tile, int32_t kv_tile) {
    const std::span<const Run> row = head.row(q_tile);
    const auto after = std::upper_bound(row.begin(), row.end(), kv_tile,
                                        [](int32_t tile, const Run& run) { return tile < run.first_tile; });
    const int64_t index = after - row.begin() - 1;
    const int64_t first = head.row_offsets[static_cast<size_t>(q_tile)];
    return head.ranks[static_cast<size_t>(first + index)] + kv_tile - row[static_cast<size_t>(index)].first_tile;
}

// One tile pair of query head `member` of the group.
struct Pair {
    int64_t b, h, member;
    int32_t q_tile, kv_tile;
    Tile queries, keys;
    const uint64_t* stencil;
};

void load_queries(const Backward& backward, const Pair& pair, const BackwardArrays& arrays) {
    const BackwardTensors& t = backward.call.tensors;
    const Primitives& cpu = backward.cpu;
    cpu.load_rows(tile_rows(t.q, pair.b, pair.h, pair.queries), arrays.q_rows);
    cpu.load_columns(tile_rows(t.q, pair.b, pair.h, pair.queries), arrays.q_columns);
    cpu.load_rows(tile_rows(t.dout, pair.b, pair.h, pair.queries), arrays.dout_rows);
    cpu.load_columns(tile_rows(t.dout, pair.b, pair.h, pair.queries), arrays.dout_columns);
    const float* delta =
        backward.delta.data() + (pair.b * backward.q_heads + pair.h) * backward.q_len + pair.queries.begin;
    std::copy_n(delta, pair.queries.rows, arrays.delta);
    for (int32_t query = 0; query < pair.queries.rows; ++query)
        arrays.lse[query] = *row_value(t.lse, pair.b, pair.h, pair.queries.begin + query);
    std::fill(arrays.delta + pair.queries.rows, arrays.delta + padded(pair.queries.rows), 0.0F);
    std::fill(arrays.lse + pair.queries.rows, arrays.lse + padded(pair.queries.rows), 0.0F);
}

// S^T, P^T, dv, dP^T, dS^T, dk; leaves dS^T in arrays.score_gradients.
void key_products(const Backward& backward, const Pair& pair, const BackwardArrays& arrays) {
    const Primitives& cpu = backward.cpu;
    const int32_t keys = pair.keys.rows, queries = pair.queries.rows;
    const auto by_query = [&](Matrix a, Matrix b, Matrix c, int32_t columns) {  // c [keys x queries]
        cpu.multiply({a.data, a.stride, 1, b, c, keys, padded(queries), columns, Update::kReplace});
    };
    const auto add_to_keys = [&](Matrix a, Matrix b, Matrix c, int32_t columns) {  // c [keys x columns]
        cpu.multiply({a.data, a.stride, 1, b, c, keys, padded(columns), queries, Update::kAdd});
    };
    const Scores scores{arrays.probabilities, keys, queries, pair.stencil};
    by_query(arrays.keys, arrays.q_columns, arrays.probabilities, backward.head_dim);
    cpu.probabilities(scores, backward.call.scale, arrays.lse);
    add_to_keys(arrays.probabilities, arrays.dout_rows, arrays.dv, backward.v_head_dim);
    by_query(arrays.values, arrays.dout_columns, arrays.score_gradients, backward.v_head_dim);
    cpu.score_gradients(scores, arrays.score_gradients, arrays.delta);
    add_to_keys(arrays.score_gradients, arrays.q_rows, arrays.dk, backward.head_dim);
}

// dq += dS k, when all key tiles before this one have added theirs.
void add_to_queries(const Backward& backward, const Pair& pair, const HeadView& head, OpenGroup& group,
                    const BackwardArrays& arrays) {
    std::atomic<int32_t>& turn = group.turns[static_cast<size_t>(pair.member * backward.most_q_tiles + pair.q_tile)];
    const int32_t mine = turn_of(head, pair.q_tile, pair.kv_tile);
    while (turn.load(std::memory_order_acquire) != mine) std::this_thread::yield();
    const int64_t stride = padded(backward.head_dim);
    const Matrix dq{group.dq.data() + (pair.member * backward.q_len + pair.queries.begin) * stride, stride};
    backward.cpu.multiply({.a = arrays.score_gradients.data,
                           .a_row = 1,
                           .a_column = arrays.score_gradients.stride,
                           .b = arrays.keys,
                           .c = dq,
                           .m = pair.queries.rows,
                           .n = padded(backward.head_dim),
                           .k = pair.keys.rows,
                           .update = Update::kAdd});
    turn.store(mine + 1, std::memory_order_release);
}

void scale_rows(const Backward& backward, Matrix rows, int32_t count) {
    float factors[kTileRows];
    std::fill_n(factors, count, backward.call.scale);
    backward.cpu.multiply_rows(rows, count, backward.head_dim, factors);
}

void do_key_tile(const Backward& backward, OpenGroup& group, int32_t kv_tile, const BackwardArrays& arrays) {
    const BackwardTensors& t = backward.call.tensors;
    const Primitives& cpu = backward.cpu;
    const int64_t b = group.group / backward.kv_heads, kv_head = group.group % backward.kv_heads;
    const Tile keys = backward.call.mask.head(b, 0).kv_tiles[static_cast<size_t>(kv_tile)];
    cpu.load_rows(tile_rows(t.k, b, kv_head, keys), arrays.keys);
    cpu.load_rows(tile_rows(t.v, b, kv_head, keys), arrays.values);
    std::fill_n(arrays.dk.data, keys.rows * arrays.dk.stride, 0.0F);
    std::fill_n(arrays.dv.data, keys.rows * arrays.dv.stride, 0.0F);
    for (int64_t member = 0; member < backward.group_heads; ++member) {
        const int64_t h = kv_head * backward.group_heads + member;
        const HeadView head = backward.call.mask.head(b, h);
        for (const Run& run : head.column(kv_tile))
            for (int32_t q_tile = run.first_tile; q_tile < run.first_tile + run.tiles; ++q_tile) {
                const Pair pair{b,       h,
                                member,  q_tile,
                                kv_tile, head.q_tiles[static_cast<size_t>(q_tile)],
                                keys,    transposed_words(backward.call.mask, run)};
                load_queries(backward, pair, arrays);
                key_products(backward, pair, arrays);
                add_to_queries(backward, pair, head, group, arrays);
            }
    }
    scale_rows(backward, arrays.dk, keys.rows);
    cpu.store_rows(arrays.dk, tile_rows(t.dk, b, kv_head, keys));
    cpu.store_rows(arrays.dv, tile_rows(t.dv, b, kv_head, keys));
}

void clear(OpenGroup& group, int64_t turns) {
    std::fill(group.dq.begin(), group.dq.end(), 0.0F);
    for (int64_t i = 0; i < turns; ++i) group.turns[static_cast<size_t>(i)].store(0, std::memory_order_relaxed);
}

void write_dq(const Backward& backward, OpenGroup& group) {
    const int64_t b = group.group / backward.kv_heads, kv_head = group.group % backward.kv_heads;
    const int64_t stride = padded(backward.head_dim);
    for (int64_t member = 0; member < backward.group_heads; ++member)
        for (int64_t index = 0; index * kTileRows < backward.q_len; ++index) {
            const Tile rows = aligned_queries(backward, index);
            const Matrix dq{group.dq.data() + (member * backward.q_len + rows.begin) * stride, stride};
            scale_rows(backward, dq, rows.rows);
            backward.cpu.store_rows(
                dq, tile_rows(backward.call.tensors.dq, b, kv_head * backward.group_heads + member, rows));
        }
}

// Visited tile pairs of a group, in all its heads.
int64_t cost_of(const Backward& backward, int64_t group) {
    int64_t cost = 0;
    for (int64_t member = 0; member < backward.group_heads; ++member) {
        const HeadView head = backward.call.mask.head(group / backward.kv_heads,
                                                      group % backward.kv_heads * backward.group_heads + member);
        for (int64_t tile = 0; tile < std::ssize(head.kv_tiles); ++tile)
            for (const Run& run : head.column(tile)) cost += run.tiles;
    }
    return cost;
}

// Groups, heaviest first, and the number of key tiles of each.
void order_groups(const Backward& backward, std::vector<int64_t>& groups, std::vector<int64_t>& tiles) {
    std::vector<int64_t> costs(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) costs[i] = cost_of(backward, static_cast<int64_t>(i));
    std::iota(groups.begin(), groups.end(), 0);
    std::stable_sort(groups.begin(), groups.end(), [&costs](int64_t x, int64_t y) {
        return costs[static_cast<size_t>(x)] > costs[static_cast<size_t>(y)];
    });
    for (size_t i = 0; i < groups.size(); ++i)
        tiles[i] = std::ssize(backward.call.mask.head(groups[i] / backward.kv_heads, 0).kv_tiles);
}

// Works until the schedule has nothing left.
void work(const Backward& backward, BackwardSchedule& schedule, const BackwardArrays& arrays) {
    while (const auto task = schedule.next()) {
        OpenGroup& group = *task->group;
        bool complete = false;
        if (task->kind == BackwardSchedule::Kind::kOpenGroup) {
            clear(group, backward.group_heads * backward.most_q_tiles);
            complete = schedule.opened(group);
        } else {
            do_key_tile(backward, group, static_cast<int32_t>(task->tile), arrays);
            complete = schedule.finished(group);
        }
        if (!complete) continue;
        write_dq(backward, group);
        schedule.closed(group);
    }
}

}  // namespace

void backward(const BackwardCall& call) {
    const TensorView &q = call.tensors.q, &k = call.tensors.k, &v = call.tensors.v;
    Backward backward{.cpu = chosen_primitives(),
                      .call = call,
                      .head_dim = static_cast<int32_t>(q.shape[3]),
                      .v_head_dim = static_cast<int32_t>(v.shape[3]),
                      .q_heads = q.shape[1],
                      .kv_heads = k.shape[1],
                      .group_heads = group_size(q, k),
                      .q_len = q.shape[2],
                      .most_q_tiles = 0,
                      .delta = {}};
    int64_t tiles_in_all = 0;
    for (int64_t b = 0; b < call.mask.batch(); ++b) {
        backward.most_q_tiles = std::max(backward.most_q_tiles, std::ssize(call.mask.grid(b).q_tiles));
        tiles_in_all = std::max(tiles_in_all, std::ssize(call.mask.grid(b).kv_tiles));
    }
    const int64_t group_count = q.shape[0] * backward.kv_heads;
    if (group_count == 0) return;
    backward.delta.resize(static_cast<size_t>(q.shape[0] * backward.q_heads * backward.q_len));

    std::vector<int64_t> groups(static_cast<size_t>(group_count)), tiles(groups.size());
    order_groups(backward, groups, tiles);
    const int threads = thread_count(call.threads, group_count * std::max<int64_t>(tiles_in_all, 1));
    Scratch scratch(threads, floats_of_arrays(backward.head_dim, backward.v_head_dim));
    compute_deltas(backward, threads, scratch);
    // A free slot is always found: with as many slots as threads, not every other slot can be busy.
    BackwardSchedule schedule(std::move(groups), std::move(tiles),
                              static_cast<int>(std::min<int64_t>(threads, group_count)),
                              backward.group_heads * backward.q_len * padded(backward.head_dim),
                              backward.group_heads * backward.most_q_tiles);
    run_workers(threads, [&](int worker) {
        work(backward, schedule, divide(scratch.of(worker), backward.head_dim, backward.v_head_dim));
    });
}

}  // namespace jali::cpu

// Forward: one unit of work a (b, h, query tile). Its maxima, sums and output stay in scratch while the key tiles of
// its row pass by.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "attention/cpu/engine.h"
#include "attention/cpu/workers.h"

namespace jali::cpu {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct ForwardArrays {
    Matrix q_columns;  // [D x queries]
    Matrix keys;       // [keys x D]
    Matrix values;     // [keys x Dv]
    Matrix scores;     // [keys x queries]
    Matrix out;        // [queries x Dv], not yet divided by the sums
    float *maximum, *next_maximum, *sum;
};

int64_t floats_of_arrays(int32_t head_dim, int32_t v_head_dim) {
    return padded(head_dim) * scratch_stride(kTileRows) + kTileRows * scratch_stride(head_dim) +
           2 * kTileRows * scratch_stride(v_head_dim) + kTileRows * scratch_stride(kTileRows) + 3 * kTileRows;
}

ForwardArrays divide(float* scratch, int32_t head_dim, int32_t v_head_dim) {
    const auto take = [&scratch](int32_t rows, int64_t stride) {
        const Matrix matrix{scratch, stride};
        scratch += rows * stride;
        return matrix;
    };
    ForwardArrays arrays{};
    arrays.q_columns = take(padded(head_dim), scratch_stride(kTileRows));
    arrays.keys = take(kTileRows, scratch_stride(head_dim));
    arrays.values = take(kTileRows, scratch_stride(v_head_dim));
    arrays.scores = take(kTileRows, scratch_stride(kTileRows));
    arrays.out = take(kTileRows, scratch_stride(v_head_dim));
    arrays.maximum = take(1, kTileRows).data;
    arrays.next_maximum = take(1, kTileRows).data;
    arrays.sum = take(1, kTileRows).data;
    return arrays;
}

struct Unit {
    int64_t b, h;
    Tile q_tile;
    std::span<const Run> row;
};

// Brings sums and output from the old maxima to the new ones.
void rescale(const Primitives& cpu, const ForwardArrays& arrays, int32_t queries, int32_t columns) {
    float factors[kTileRows];
    bool changed = false;
    for (int32_t query = 0; query < queries; ++query) {
        const float before = arrays.maximum[query], after = arrays.next_maximum[query];
        factors[query] = before == after ? 1.0F : std::exp(before - after);
        changed = changed || factors[query] != 1.0F;
        arrays.sum[query] *= factors[query];
    }
    if (changed) cpu.multiply_rows(arrays.out, queries, columns, factors);
    std::copy_n(arrays.next_maximum, padded(queries), arrays.maximum);
}

void visit_key_tile(const Primitives& cpu, const ForwardCall& call, const Unit& unit, Tile kv_tile,
                    const uint64_t* stencil, const ForwardArrays& arrays) {
    const ForwardTensors& t = call.tensors;
    const auto head_dim = static_cast<int32_t>(t.q.shape[3]), v_head_dim = static_cast<int32_t>(t.v.shape[3]);
    const int64_t kv_head = unit.h / group_size(t.q, t.k);
    const int32_t queries = unit.q_tile.rows;
    const Scores scores{arrays.scores, kv_tile.rows, queries, stencil};

    cpu.load_rows(tile_rows(t.k, unit.b, kv_head, kv_tile), arrays.keys);
    cpu.multiply({.a = arrays.keys.data,
                  .a_row = arrays.keys.stride,
                  .a_column = 1,
                  .b = arrays.q_columns,
                  .c = arrays.scores,
                  .m = kv_tile.rows,
                  .n = padded(queries),
                  .k = head_dim,
                  .update = Update::kReplace});
    std::copy_n(arrays.maximum, padded(queries), arrays.next_maximum);
    cpu.masked_maximum(scores, call.scale, arrays.next_maximum);
    rescale(cpu, arrays, queries, v_head_dim);
    cpu.exponentials(scores, arrays.maximum, arrays.sum);

    cpu.load_rows(tile_rows(t.v, unit.b, kv_head, kv_tile), arrays.values);
    cpu.multiply({.a = arrays.scores.data,
                  .a_row = 1,
                  .a_column = arrays.scores.stride,
                  .b = arrays.values,
                  .c = arrays.out,
                  .m = queries,
                  .n = padded(v_head_dim),
                  .k = kv_tile.rows,
                  .update = Update::kAdd});
}

// Divides by the sums, and writes out and lse. A query without a key has the sum 0.
void finish(const Primitives& cpu, const ForwardCall& call, const Unit& unit, const ForwardArrays& arrays) {
    const ForwardTensors& t = call.tensors;
    for (int32_t query = 0; query < unit.q_tile.rows; ++query) {
        float& sum = arrays.sum[query];
        const bool empty = sum == 0.0F;
        if (t.lse.data != nullptr) {
            const double lse = static_cast<double>(arrays.maximum[query]) + std::log(static_cast<double>(sum));
            *row_value(t.lse, unit.b, unit.h, unit.q_tile.begin + query) =
                empty ? kMinusInfinity : static_cast<float>(lse);
        }
        if (empty) {
            std::fill_n(arrays.out.data + query * arrays.out.stride, t.v.shape[3], 0.0F);
            sum = 1.0F;
        }
    }
    cpu.divide_rows(arrays.out, unit.q_tile.rows, static_cast<int32_t>(t.v.shape[3]), arrays.sum);
    cpu.store_rows(arrays.out, tile_rows(t.out, unit.b, unit.h, unit.q_tile));
}

void attend(const Primitives& cpu, const ForwardCall& call, const Unit& unit, std::span<const Tile> kv_tiles,
            const ForwardArrays& arrays) {
    const int32_t queries = padded(unit.q_tile.rows);
    std::fill_n(arrays.maximum, queries, kMinusInfinity);
    std::fill_n(arrays.sum, queries, 0.0F);
    std::fill_n(arrays.out.data, unit.q_tile.rows * arrays.out.stride, 0.0F);
    if (!unit.row.empty()) cpu.load_columns(tile_rows(call.tensors.q, unit.b, unit.h, unit.q_tile), arrays.q_columns);
    for (const Run& run : unit.row)
        for (int32_t tile = run.first_tile; tile < run.first_tile + run.tiles; ++tile)
            visit_key_tile(cpu, call, unit, kv_tiles[static_cast<size_t>(tile)], transposed_words(call.mask, run),
                           arrays);
    finish(cpu, call, unit, arrays);
}

}  // namespace

void forward(const ForwardCall& call) {
    const Primitives& cpu = chosen_primitives();
    const TensorView& q = call.tensors.q;
    const auto head_dim = static_cast<int32_t>(q.shape[3]), v_head_dim = static_cast<int32_t>(call.tensors.v.shape[3]);
    const int64_t heads = q.shape[0] * q.shape[1];
    size_t most_tiles = 0;
    for (int64_t b = 0; b < call.mask.batch(); ++b) most_tiles = std::max(most_tiles, call.mask.grid(b).q_tiles.size());
    // The heaviest tile of every head first, then every head's second, ...
    const int64_t units = heads * static_cast<int64_t>(most_tiles);
    if (units == 0) return;

    const int threads = thread_count(call.threads, units);
    Scratch scratch(threads, floats_of_arrays(head_dim, v_head_dim));
    std::atomic<int64_t> next{0};
    run_workers(threads, [&](int worker) {
        const ForwardArrays arrays = divide(scratch.of(worker), head_dim, v_head_dim);
        for (int64_t u = next++; u < units; u = next++) {
            const int64_t b = u % heads / q.shape[1], h = u % heads % q.shape[1];
            const HeadView head = call.mask.head(b, h);
            if (u / heads >= std::ssize(head.q_order)) continue;
            const int32_t tile = head.q_order[static_cast<size_t>(u / heads)];
            attend(cpu, call, {b, h, head.q_tiles[static_cast<size_t>(tile)], head.row(tile)}, head.kv_tiles, arrays);
        }
    });
}

}  // namespace jali::cpu

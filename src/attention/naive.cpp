// The yardstick of the tolerance: what a plain implementation in the tested dtype gets.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/check_case.h"
#include "attention/rounding.h"

namespace jali {

namespace {

using Floats = std::vector<float>;

// Exact: the values are representable.
Floats floats(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}

std::vector<double> doubles(const Floats& values, DType dtype) {
    std::vector<double> result;
    for (const float value : values) result.push_back(rounded(static_cast<double>(value), dtype));
    return result;
}

float round_to(float value, DType dtype) {
    return static_cast<float>(rounded(static_cast<double>(value), dtype));
}

float dot(const float* x, const float* y, int64_t count) {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += x[i] * y[i];
    return sum;
}

void add(float* sum, float factor, const float* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) sum[i] += factor * x[i];
}

struct Naive {
    reference::Shape n;
    DType dtype;
    float scale;
    Floats q, k, v, dout, dlse;
    Floats out, lse, dq, dk, dv;
    Floats scores;
    std::vector<bool> kept;
};

struct Row {
    int64_t kv_head;
    size_t index;  // (b, h, q)
    int64_t b;
};

size_t key_index(const Naive& naive, const Row& row, int64_t kv) {
    return static_cast<size_t>((row.b * naive.n.kv_heads + row.kv_head) * naive.n.kv_len + kv);
}

void forward_row(Naive& naive, const Row& row) {
    const auto dim = static_cast<size_t>(naive.n.head_dim), v_dim = static_cast<size_t>(naive.n.v_head_dim);
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t kv = 0; kv < naive.n.kv_len; ++kv) {
        if (!naive.kept[static_cast<size_t>(kv)]) continue;
        const float product =
            dot(&naive.q[row.index * dim], &naive.k[key_index(naive, row, kv) * dim], naive.n.head_dim);
        naive.scores[static_cast<size_t>(kv)] = naive.scale * product;
        maximum = std::max(maximum, naive.scores[static_cast<size_t>(kv)]);
    }
    for (size_t kv = 0; kv < naive.kept.size(); ++kv)
        if (naive.kept[kv]) sum += std::exp(naive.scores[kv] - maximum);
    if (sum == 0.0F) return;
    naive.lse[row.index] = maximum + std::log(sum);
    float* out = &naive.out[row.index * v_dim];
    for (int64_t kv = 0; kv < naive.n.kv_len; ++kv) {
        if (!naive.kept[static_cast<size_t>(kv)]) continue;
        const float probability = std::exp(naive.scores[static_cast<size_t>(kv)] - maximum) / sum;
        add(out, round_to(probability, naive.dtype), &naive.v[key_index(naive, row, kv) * v_dim], naive.n.v_head_dim);
    }
    for (size_t d = 0; d < v_dim; ++d) out[d] = round_to(out[d], naive.dtype);
}

void backward_row(Naive& naive, const Row& row) {
    const auto dim = static_cast<size_t>(naive.n.head_dim), v_dim = static_cast<size_t>(naive.n.v_head_dim);
    const float* dout = &naive.dout[row.index * v_dim];
    const float delta = dot(&naive.out[row.index * v_dim], dout, naive.n.v_head_dim) - naive.dlse[row.index];
    for (int64_t kv = 0; kv < naive.n.kv_len; ++kv) {
        if (!naive.kept[static_cast<size_t>(kv)]) continue;
        const size_t key = key_index(naive, row, kv);
        const float score = naive.scores[static_cast<size_t>(kv)];
        const float probability = round_to(std::exp(score - naive.lse[row.index]), naive.dtype);
        const float dprobability = dot(dout, &naive.v[key * v_dim], naive.n.v_head_dim);
        const float dscore = round_to(probability * (dprobability - delta), naive.dtype);
        add(&naive.dv[key * v_dim], probability, dout, naive.n.v_head_dim);
        add(&naive.dq[row.index * dim], dscore, &naive.k[key * dim], naive.n.head_dim);
        add(&naive.dk[key * dim], dscore, &naive.q[row.index * dim], naive.n.head_dim);
    }
}

}  // namespace

CaseResults naive_results(const AttentionCase& values, const reference::Keep& keep, Passes passes) {
    const reference::Shape& n = values.shape;
    Naive naive{n,
                values.dtype,
                static_cast<float>(values.scale),
                floats(values.q),
                floats(values.k),
                floats(values.v),
                floats(values.dout),
                floats(values.dlse),
                {},
                {},
                {},
                {},
                {},
                {},
                {}};
    naive.out.assign(values.dout.size(), 0.0F);
    naive.lse.assign(values.dlse.size(), -std::numeric_limits<float>::infinity());
    naive.dq.assign(naive.q.size(), 0.0F);
    naive.dk.assign(naive.k.size(), 0.0F);
    naive.dv.assign(naive.v.size(), 0.0F);
    naive.scores.resize(static_cast<size_t>(n.kv_len));
    naive.kept.resize(static_cast<size_t>(n.kv_len));
    for (int64_t b = 0; b < n.batch; ++b)
        for (int64_t h = 0; h < n.q_heads; ++h)
            for (int64_t q = 0; q < n.q_len; ++q) {
                for (int64_t kv = 0; kv < n.kv_len; ++kv) naive.kept[static_cast<size_t>(kv)] = keep(b, h, q, kv);
                const Row row{h / (n.q_heads / n.kv_heads), static_cast<size_t>((b * n.q_heads + h) * n.q_len + q), b};
                forward_row(naive, row);
                if (passes == Passes::kForwardAndBackward) backward_row(naive, row);
            }
    CaseResults results{doubles(naive.out, values.dtype), doubles(naive.lse, DType::kFloat32), {}, {}, {}};
    if (passes == Passes::kForward) return results;
    for (float& x : naive.dq) x *= naive.scale;
    for (float& x : naive.dk) x *= naive.scale;
    results.dq = doubles(naive.dq, values.dtype);
    results.dk = doubles(naive.dk, values.dtype);
    results.dv = doubles(naive.dv, values.dtype);
    return results;
}

}  // namespace jali

// Sampled rows of the reference: the same definition, one query at a time, tensors read row by row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "jali/reference.h"

namespace jali::reference {

namespace {

std::vector<double> read(const ReadRow& tensor, int64_t b, int64_t h, int64_t s, int64_t columns) {
    std::vector<double> row(static_cast<size_t>(columns));
    tensor(b, h, s, row);
    return row;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
}

// sum += factor * x
void add(std::vector<double>& sum, double factor, const std::vector<double>& x) {
    for (size_t i = 0; i < x.size(); ++i) sum[i] += factor * x[i];
}

// A query with all that its gradients need.
struct Attended {
    std::vector<int64_t> keys;   // those it keeps
    std::vector<double> scores;  // of each
    std::vector<double> query, dout, out;
    double lse = -std::numeric_limits<double>::infinity();
    double delta = 0;
};

Attended attend(const RowInputs& inputs, const Keep& keep, int64_t b, int64_t h, int64_t q) {
    const Shape& n = inputs.shape;
    const int64_t kv_head = h / (n.q_heads / n.kv_heads);
    Attended row;
    row.query = read(inputs.q, b, h, q, n.head_dim);
    row.out.assign(static_cast<size_t>(n.v_head_dim), 0.0);
    double maximum = -std::numeric_limits<double>::infinity();
    for (int64_t kv = 0; kv < n.kv_len; ++kv) {
        if (!keep(b, h, q, kv)) continue;
        row.keys.push_back(kv);
        row.scores.push_back(inputs.scale * dot(row.query, read(inputs.k, b, kv_head, kv, n.head_dim)));
        maximum = std::max(maximum, row.scores.back());
    }
    if (!row.keys.empty()) {
        double sum = 0;
        for (const double score : row.scores) sum += std::exp(score - maximum);
        row.lse = maximum + std::log(sum);
        for (size_t j = 0; j < row.keys.size(); ++j)
            add(row.out, std::exp(row.scores[j] - row.lse), read(inputs.v, b, kv_head, row.keys[j], n.v_head_dim));
    }
    if (inputs.dout) {
        row.dout = read(inputs.dout, b, h, q, n.v_head_dim);
        row.delta = dot(row.out, row.dout) - (inputs.dlse ? inputs.dlse(b, h, q) : 0.0);
    }
    return row;
}

}  // namespace

QueryRow query_row(const RowInputs& inputs, const Keep& keep, int64_t b, int64_t h, int64_t q) {
    const Shape& n = inputs.shape;
    const int64_t kv_head = h / (n.q_heads / n.kv_heads);
    Attended row = attend(inputs, keep, b, h, q);
    QueryRow result{std::move(row.out), row.lse, {}};
    if (!inputs.dout) return result;
    result.dq.assign(static_cast<size_t>(n.head_dim), 0.0);
    for (size_t j = 0; j < row.keys.size(); ++j) {
        const double dprobability = dot(row.dout, read(inputs.v, b, kv_head, row.keys[j], n.v_head_dim));
        const double dscore = std::exp(row.scores[j] - row.lse) * (dprobability - row.delta);
        add(result.dq, inputs.scale * dscore, read(inputs.k, b, kv_head, row.keys[j], n.head_dim));
    }
    return result;
}

std::vector<KeyRow> key_rows(const RowInputs& inputs, const Keep& keep, int64_t b, int64_t kv_head,
                             std::span<const int64_t> kv) {
    const Shape& n = inputs.shape;
    const int64_t group = n.q_heads / n.kv_heads;
    std::vector<KeyRow> results(kv.size());
    std::vector<std::vector<double>> keys, values;
    for (size_t i = 0; i < kv.size(); ++i) {
        results[i].dk.assign(static_cast<size_t>(n.head_dim), 0.0);
        results[i].dv.assign(static_cast<size_t>(n.v_head_dim), 0.0);
        keys.push_back(read(inputs.k, b, kv_head, kv[i], n.head_dim));
        values.push_back(read(inputs.v, b, kv_head, kv[i], n.v_head_dim));
    }
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h)
        for (int64_t q = 0; q < n.q_len; ++q) {
            bool keeps_one = false;
            for (const int64_t key : kv) keeps_one = keeps_one || keep(b, h, q, key);
            if (!keeps_one) continue;
            const Attended row = attend(inputs, keep, b, h, q);
            for (size_t i = 0; i < kv.size(); ++i) {
                if (!keep(b, h, q, kv[i])) continue;
                const double probability = std::exp(inputs.scale * dot(row.query, keys[i]) - row.lse);
                const double dscore = probability * (dot(row.dout, values[i]) - row.delta);
                add(results[i].dv, probability, row.dout);
                add(results[i].dk, inputs.scale * dscore, row.query);
            }
        }
    return results;
}

}  // namespace jali::reference

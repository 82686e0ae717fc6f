// Attention by its definition, one pair at a time, in float64.
#include "jali/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace jali::reference {

namespace {

double dot(const double* x, const double* y, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += x[i] * y[i];
    return sum;
}

// sum += factor * x
void add(double* sum, double factor, const double* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) sum[i] += factor * x[i];
}

size_t index(int64_t b, int64_t heads, int64_t h, int64_t length, int64_t s, int64_t columns = 1) {
    return static_cast<size_t>(((b * heads + h) * length + s) * columns);
}

}  // namespace

Outputs forward(const Inputs& inputs, const Keep& keep) {
    const Shape& n = inputs.shape;
    Outputs result;
    result.out.assign(index(n.batch, n.q_heads, 0, n.q_len, 0, n.v_head_dim), 0.0);
    result.lse.assign(index(n.batch, n.q_heads, 0, n.q_len, 0), -std::numeric_limits<double>::infinity());
    std::vector<double> scores(static_cast<size_t>(n.kv_len));
    std::vector<bool> kept(scores.size());

    for (int64_t b = 0; b < n.batch; ++b)
        for (int64_t h = 0; h < n.q_heads; ++h)
            for (int64_t q = 0; q < n.q_len; ++q) {
                const int64_t kv_head = h / (n.q_heads / n.kv_heads);
                const double* query = &inputs.q[index(b, n.q_heads, h, n.q_len, q, n.head_dim)];
                double maximum = -std::numeric_limits<double>::infinity();
                bool any = false;
                for (int64_t kv = 0; kv < n.kv_len; ++kv) {
                    const auto j = static_cast<size_t>(kv);
                    kept[j] = keep(b, h, q, kv);
                    if (!kept[j]) continue;
                    any = true;
                    const double* key = &inputs.k[index(b, n.kv_heads, kv_head, n.kv_len, kv, n.head_dim)];
                    scores[j] = inputs.scale * dot(query, key, n.head_dim);
                    maximum = std::max(maximum, scores[j]);
                }
                if (!any) continue;
                double sum = 0;
                for (size_t j = 0; j < scores.size(); ++j)
                    if (kept[j]) sum += std::exp(scores[j] - maximum);
                const double lse = maximum + std::log(sum);
                result.lse[index(b, n.q_heads, h, n.q_len, q)] = lse;
                double* out = &result.out[index(b, n.q_heads, h, n.q_len, q, n.v_head_dim)];
                for (int64_t kv = 0; kv < n.kv_len; ++kv)
                    if (kept[static_cast<size_t>(kv)])
                        add(out, std::exp(scores[static_cast<size_t>(kv)] - lse),
                            &inputs.v[index(b, n.kv_heads, kv_head, n.kv_len, kv, n.v_head_dim)], n.v_head_dim);
            }
    return result;
}

Gradients backward(const Inputs& inputs, const Keep& keep, const std::vector<double>& dout,
                   const std::vector<double>& dlse) {
    const Shape& n = inputs.shape;
    const Outputs outputs = forward(inputs, keep);
    Gradients result;
    result.dq.assign(inputs.q.size(), 0.0);
    result.dk.assign(inputs.k.size(), 0.0);
    result.dv.assign(inputs.v.size(), 0.0);

    for (int64_t b = 0; b < n.batch; ++b)
        for (int64_t h = 0; h < n.q_heads; ++h)
            for (int64_t q = 0; q < n.q_len; ++q) {
                const int64_t kv_head = h / (n.q_heads / n.kv_heads);
                const size_t row = index(b, n.q_heads, h, n.q_len, q);
                const size_t q_at = row * static_cast<size_t>(n.head_dim);
                const size_t out_at = row * static_cast<size_t>(n.v_head_dim);
                // d loss / d S = P (d loss / d P - sum over keys of P d loss / d P), and d lse / d S = P.
                double delta = dot(&outputs.out[out_at], &dout[out_at], n.v_head_dim);
                if (!dlse.empty()) delta -= dlse[row];
                for (int64_t kv = 0; kv < n.kv_len; ++kv) {
                    if (!keep(b, h, q, kv)) continue;
                    const size_t k_at = index(b, n.kv_heads, kv_head, n.kv_len, kv, n.head_dim);
                    const size_t v_at = index(b, n.kv_heads, kv_head, n.kv_len, kv, n.v_head_dim);
                    const double score = inputs.scale * dot(&inputs.q[q_at], &inputs.k[k_at], n.head_dim);
                    const double probability = std::exp(score - outputs.lse[row]);
                    const double dprobability = dot(&dout[out_at], &inputs.v[v_at], n.v_head_dim);
                    const double dscore = probability * (dprobability - delta);
                    add(&result.dv[v_at], probability, &dout[out_at], n.v_head_dim);
                    add(&result.dq[q_at], inputs.scale * dscore, &inputs.k[k_at], n.head_dim);
                    add(&result.dk[k_at], inputs.scale * dscore, &inputs.q[q_at], n.head_dim);
                }
            }
    return result;
}

}  // namespace jali::reference

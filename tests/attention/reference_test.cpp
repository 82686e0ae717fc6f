// The oracle itself: small answers by hand, gradients by finite differences, sampled rows against all rows.
#include "jali/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/random_seed.h"

namespace jali::reference {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::vector<double> draw(std::mt19937_64& random, int64_t count) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = std::normal_distribution<double>()(random);
    return values;
}

struct Case {
    Inputs inputs;
    std::vector<double> dout, dlse;
};

Case draw_case(const Shape& n, uint64_t seed) {
    std::mt19937_64 random(seed);
    Case result;
    result.inputs = {n, 0.4, draw(random, n.batch * n.q_heads * n.q_len * n.head_dim),
                     draw(random, n.batch * n.kv_heads * n.kv_len * n.head_dim),
                     draw(random, n.batch * n.kv_heads * n.kv_len * n.v_head_dim)};
    result.dout = draw(random, n.batch * n.q_heads * n.q_len * n.v_head_dim);
    result.dlse = draw(random, n.batch * n.q_heads * n.q_len);
    return result;
}

// Depends on all four indices; query 2 keeps nothing and key 4 is kept by none.
bool scattered(int64_t b, int64_t h, int64_t q, int64_t kv) {
    return q != 2 && kv != 4 && (3 * q + 5 * kv + 2 * h + b) % 3 != 0;
}

// The function whose gradients backward() gives, over the rows that have a key.
double loss(const Inputs& inputs, const Case& original) {
    const Outputs outputs = forward(inputs, scattered);
    double sum = 0;
    for (size_t i = 0; i < outputs.out.size(); ++i) sum += outputs.out[i] * original.dout[i];
    for (size_t i = 0; i < outputs.lse.size(); ++i)
        if (outputs.lse[i] != kMinusInfinity) sum += outputs.lse[i] * original.dlse[i];
    return sum;
}

void expect_finite_differences(const Case& original, std::vector<double> Inputs::*tensor,
                               const std::vector<double>& gradient) {
    constexpr double kStep = 1e-5;
    ASSERT_EQ((original.inputs.*tensor).size(), gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
        Inputs above = original.inputs, below = original.inputs;
        (above.*tensor)[i] += kStep;
        (below.*tensor)[i] -= kStep;
        const double difference = (loss(above, original) - loss(below, original)) / (2 * kStep);
        EXPECT_NEAR(gradient[i], difference, 1e-7) << "element " << i;
    }
}

TEST(Reference, TwoKeysByHand) {
    // Scores 0 and ln 3: weights 1/4 and 3/4.
    const Inputs inputs{{.q_len = 1, .kv_len = 2, .head_dim = 1, .v_head_dim = 2},
                        std::log(3.0),
                        {1.0},
                        {0.0, 1.0},
                        {4.0, 8.0, 0.0, 4.0}};
    const auto all = [](int64_t, int64_t, int64_t, int64_t) { return true; };
    const Outputs outputs = forward(inputs, all);
    EXPECT_NEAR(outputs.out[0], 1.0, 1e-15);
    EXPECT_NEAR(outputs.out[1], 5.0, 1e-15);
    EXPECT_NEAR(outputs.lse[0], std::log(4.0), 1e-15);
    // dout = (1, 0): dP = (4, 0), delta = 1, dS = (3/4, -3/4).
    const Gradients gradients = backward(inputs, all, {1.0, 0.0}, {});
    EXPECT_NEAR(gradients.dq[0], -0.75 * std::log(3.0), 1e-15);
    EXPECT_NEAR(gradients.dk[0], 0.75 * std::log(3.0), 1e-15);
    EXPECT_NEAR(gradients.dv[0], 0.25, 1e-15);
    EXPECT_NEAR(gradients.dv[2], 0.75, 1e-15);
    // dlse = 1 adds dS = P.
    EXPECT_NEAR(backward(inputs, all, {1.0, 0.0}, {1.0}).dq[0], 0.0, 1e-15);
}

TEST(Reference, RowWithoutAKeyIsZeroWithMinusInfiniteLse) {
    const Case c = draw_case({.q_len = 4, .kv_len = 6, .head_dim = 3, .v_head_dim = 2}, test::seed_for("empty row"));
    const Outputs outputs = forward(c.inputs, scattered);
    EXPECT_EQ(outputs.lse[2], kMinusInfinity);
    EXPECT_EQ(outputs.out[4], 0.0);
    EXPECT_EQ(outputs.out[5], 0.0);
    const Gradients gradients = backward(c.inputs, scattered, c.dout, c.dlse);
    for (size_t d = 0; d < 3; ++d) {
        EXPECT_EQ(gradients.dq[6 + d], 0.0);
        EXPECT_EQ(gradients.dk[12 + d], 0.0);
    }
}

TEST(Reference, GradientsAreFiniteDifferences) {
    const Shape shape{.batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 5, .kv_len = 6, .head_dim = 3, .v_head_dim = 2};
    const Case c = draw_case(shape, test::seed_for("finite differences"));
    const Gradients gradients = backward(c.inputs, scattered, c.dout, c.dlse);
    expect_finite_differences(c, &Inputs::q, gradients.dq);
    expect_finite_differences(c, &Inputs::k, gradients.dk);
    expect_finite_differences(c, &Inputs::v, gradients.dv);
}

TEST(Reference, SampledRowsEqualAllRows) {
    const Shape n{.batch = 2, .q_heads = 6, .kv_heads = 2, .q_len = 7, .kv_len = 9, .head_dim = 4, .v_head_dim = 5};
    const Case c = draw_case(n, test::seed_for("sampled rows"));
    const auto reader = [](const std::vector<double>& values, int64_t heads, int64_t length) -> ReadRow {
        return [&values, heads, length](int64_t b, int64_t h, int64_t s, std::span<double> row) {
            const auto columns = std::ssize(row);
            std::copy_n(values.begin() + ((b * heads + h) * length + s) * columns, columns, row.begin());
        };
    };
    const RowInputs rows{n,
                         c.inputs.scale,
                         reader(c.inputs.q, n.q_heads, n.q_len),
                         reader(c.inputs.k, n.kv_heads, n.kv_len),
                         reader(c.inputs.v, n.kv_heads, n.kv_len),
                         reader(c.dout, n.q_heads, n.q_len),
                         [&](int64_t b, int64_t h, int64_t s) {
                             return c.dlse[static_cast<size_t>((b * n.q_heads + h) * n.q_len + s)];
                         }};
    const Outputs outputs = forward(c.inputs, scattered);
    const Gradients gradients = backward(c.inputs, scattered, c.dout, c.dlse);
    for (int64_t b = 0; b < n.batch; ++b)
        for (int64_t h = 0; h < n.q_heads; ++h)
            for (int64_t q = 0; q < n.q_len; ++q) {
                const QueryRow row = query_row(rows, scattered, b, h, q);
                const auto at = static_cast<size_t>((b * n.q_heads + h) * n.q_len + q);
                if (q == 2)
                    EXPECT_EQ(row.lse, kMinusInfinity);
                else
                    EXPECT_NEAR(row.lse, outputs.lse[at], 1e-12);
                for (size_t d = 0; d < 5; ++d) EXPECT_NEAR(row.out[d], outputs.out[5 * at + d], 1e-12);
                for (size_t d = 0; d < 4; ++d) EXPECT_NEAR(row.dq[d], gradients.dq[4 * at + d], 1e-12);
            }
    const int64_t keys[] = {8, 0, 4};
    for (int64_t b = 0; b < n.batch; ++b)
        for (int64_t h = 0; h < n.kv_heads; ++h) {
            const std::vector<KeyRow> sampled = key_rows(rows, scattered, b, h, keys);
            for (size_t i = 0; i < 3; ++i) {
                const auto at = static_cast<size_t>((b * n.kv_heads + h) * n.kv_len + keys[i]);
                for (size_t d = 0; d < 4; ++d) EXPECT_NEAR(sampled[i].dk[d], gradients.dk[4 * at + d], 1e-12);
                for (size_t d = 0; d < 5; ++d) EXPECT_NEAR(sampled[i].dv[d], gradients.dv[5 * at + d], 1e-12);
            }
        }
}

}  // namespace
}  // namespace jali::reference

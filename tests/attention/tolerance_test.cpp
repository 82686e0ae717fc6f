// The tolerance itself: what it must notice and what it must not.
#include "attention/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "attention/check.h"
#include "attention/rounding.h"
#include "support/attention_masks.h"
#include "support/random_seed.h"

namespace jali {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 2 heads of 200 rows of 16 columns: exact values N(0, 1), the yardstick off by up to `error`.
struct Tensor {
    std::array<int64_t, 4> shape{1, 2, 200, 16};
    std::vector<double> exact, naive, values;

    explicit Tensor(double error) {
        std::mt19937_64 random(test::seed_for("tolerance"));
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<double> off(-error, error);
        for (int i = 0; i < 2 * 200 * 16; ++i) {
            exact.push_back(normal(random));
            naive.push_back(exact.back() + off(random));
        }
        values = naive;
    }

    TensorError compared() const {
        return compare({.name = "out",
                        .shape = shape,
                        .dtype = DType::kFloat32,
                        .values = values,
                        .exact = exact,
                        .naive = naive});
    }
};

TEST(Tolerance, TheYardstickItselfPasses) {
    const TensorError error = Tensor(1e-3).compared();
    EXPECT_TRUE(error.passed());
    EXPECT_EQ(error.tiles.size(), 4U);
    EXPECT_EQ(failure_of(error), "");
}

TEST(Tolerance, OneElementTwiceAsWrongFails) {
    for (const size_t at : {size_t{0}, size_t{199 * 16 + 15}, size_t{399 * 16 + 3}}) {
        Tensor tensor(1e-3);
        tensor.values[at] = tensor.exact[at] - 1.9e-3;
        EXPECT_TRUE(tensor.compared().passed());
        tensor.values[at] = tensor.exact[at] - 5e-3;
        const TensorError error = tensor.compared();
        EXPECT_FALSE(error.passed());
        EXPECT_EQ(error.worst()->row, static_cast<int64_t>(at / 16 % 200));
        EXPECT_EQ(error.worst()->column, static_cast<int64_t>(at % 16));
        EXPECT_NE(failure_of(error), "");
    }
}

TEST(Tolerance, ErrorsThatAreLargerThroughoutFailByTheirMean) {
    Tensor tensor(1e-3);
    for (size_t i = 0; i < tensor.values.size(); ++i)
        tensor.values[i] = tensor.exact[i] + 1.2 * (tensor.naive[i] - tensor.exact[i]);
    const TensorError error = tensor.compared();
    EXPECT_FALSE(error.rms_passed());
    for (const TileError& tile : error.tiles) EXPECT_TRUE(tile.passed());
    EXPECT_NE(failure_of(error).find("root mean square"), std::string::npos);
}

TEST(Tolerance, NotANumberAndMissingInfinitiesFail) {
    Tensor tensor(1e-3);
    tensor.values[77] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(tensor.compared().passed());
    tensor = Tensor(1e-3);
    tensor.exact[77] = tensor.naive[77] = -kInfinity;
    tensor.values[77] = -1e30;
    EXPECT_FALSE(tensor.compared().passed());
    tensor.values[77] = -kInfinity;
    EXPECT_TRUE(tensor.compared().passed());
}

TEST(Tolerance, AYardstickThatOverflowsAllowsNothing) {
    Tensor tensor(1e-3);
    for (double& value : tensor.naive) value = kInfinity;
    tensor.values.assign(tensor.values.size(), std::numeric_limits<double>::quiet_NaN());
    EXPECT_FALSE(tensor.compared().passed());
    tensor.values = tensor.exact;
    EXPECT_TRUE(tensor.compared().passed());
}

TEST(Rounding, StoresZeroAndWhatUnderflowsToIt) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
        for (const double value : {0.0, -0.0, 1e-60, -1e-60, 1.0, -0.375}) {
            alignas(16) float storage = 7.0F;
            const TensorView view = contiguous(&storage, dtype, {1, 1, 1, 1});
            set_element(view, 0, 0, 0, 0, value);
            EXPECT_EQ(element(view, 0, 0, 0, 0), std::abs(value) < 1e-50 ? 0.0 : value) << name_of(dtype);
            EXPECT_EQ(std::signbit(element(view, 0, 0, 0, 0)), std::signbit(value)) << name_of(dtype);
        }
    }
}

TEST(Tolerance, ExactZerosMustBeZero) {
    Tensor tensor(1e-3);
    for (auto* values : {&tensor.exact, &tensor.naive, &tensor.values}) std::fill(values->begin(), values->end(), 0.0);
    EXPECT_TRUE(tensor.compared().passed());
    tensor.values[5] = 1e-30;
    EXPECT_FALSE(tensor.compared().passed());
}

TEST(Tolerance, AnExactYardstickAllowsTheRoundingOfTheResult) {
    Tensor tensor(0.0);
    for (double& value : tensor.values) value = rounded(value, DType::kFloat32);
    for (const TileError& tile : tensor.compared().tiles) EXPECT_TRUE(tile.passed());
}

TEST(Tolerance, OneWrongMaskBitFails) {
    std::mt19937_64 random(test::seed_for("wrong bit"));
    const test::NamedKeep mask = test::engine_masks()[1];
    const reference::Shape shape{
        .q_heads = 2, .kv_heads = 1, .q_len = 300, .kv_len = 300, .head_dim = 16, .v_head_dim = 16};
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16})
        for (int i = 0; i < 3; ++i) {
            const auto wrong_q = static_cast<int64_t>(random() % 300), wrong_kv = static_cast<int64_t>(random() % 300);
            const test::NamedKeep wrong{"", [&](int64_t b, int64_t h, int64_t q, int64_t kv) {
                                            return mask.keep(b, h, q, kv) != (q == wrong_q && kv == wrong_kv);
                                        }};
            const CheckResult result =
                check_engine(test::engine_mask(wrong, test::GridKind::kAligned, 1, 1, 300, 300), mask.keep,
                             {.shape = shape, .dtype = dtype, .seed = random(), .passes = Passes::kForward});
            EXPECT_FALSE(result.passed()) << name_of(dtype) << " " << wrong_q << ", " << wrong_kv;
        }
}

}  // namespace
}  // namespace jali

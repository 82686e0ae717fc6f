// Every table of primitives that this machine runs, against plain arithmetic.
#include "attention/cpu/primitives.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "attention/rounding.h"
#include "support/random_seed.h"

namespace jali::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class PrimitivesTest : public testing::TestWithParam<const Primitives*> {
   protected:
    const Primitives& cpu = *GetParam();
    std::mt19937_64 random{test::seed_for(testing::UnitTest::GetInstance()->current_test_info()->name())};

    float normal() { return std::normal_distribution<float>()(random); }
    std::vector<float> normals(int64_t count) {
        std::vector<float> values(static_cast<size_t>(count));
        for (float& value : values) value = normal();
        return values;
    }
};

INSTANTIATE_TEST_SUITE_P(All, PrimitivesTest, testing::ValuesIn(available_primitives()),
                         [](const auto& set) { return std::string(set.param->name); });

double bits_as_double(uint16_t bits, DType dtype) {
    return element(contiguous(&bits, dtype, {1, 1, 1, 1}), 0, 0, 0, 0);
}

TEST_P(PrimitivesTest, LoadsEveryHalfExactly) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
        std::vector<uint16_t> bits(65536);
        for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
        std::vector<float> loaded(65536);
        cpu.load_rows({reinterpret_cast<std::byte*>(bits.data()), 512, dtype, 256, 256}, {loaded.data(), 256});
        for (size_t i = 0; i < bits.size(); ++i) {
            const double expected = bits_as_double(bits[i], dtype);
            if (std::isnan(expected))
                ASSERT_TRUE(std::isnan(loaded[i])) << name_of(dtype) << " bits " << i;
            else
                ASSERT_EQ(static_cast<double>(loaded[i]), expected) << name_of(dtype) << " bits " << i;
        }
    }
}

// Every half, its neighbours, the middles between halves and their neighbours; overflow, subnormals, NaN.
TEST_P(PrimitivesTest, StoresTheNearestHalf) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
        std::vector<float> values;
        for (uint32_t i = 0; i < 65536; ++i) {
            const auto value = static_cast<float>(bits_as_double(static_cast<uint16_t>(i), dtype));
            const auto next = static_cast<float>(bits_as_double(static_cast<uint16_t>(i + 1), dtype));
            const float middle = 0.5F * value + 0.5F * next;
            for (const float x : {value, middle})
                for (const float y : {std::nextafter(x, -kInfinity), x, std::nextafter(x, kInfinity)})
                    values.push_back(y);
        }
        while (values.size() % 256 != 0) values.push_back(3e38F);
        const auto rows = static_cast<int32_t>(values.size() / 256);
        std::vector<uint16_t> stored(values.size());
        cpu.store_rows({values.data(), 256}, {reinterpret_cast<std::byte*>(stored.data()), 512, dtype, rows, 256});
        for (size_t i = 0; i < values.size(); ++i) {
            const double expected = rounded(static_cast<double>(values[i]), dtype);
            const double got = bits_as_double(stored[i], dtype);
            if (std::isnan(expected))
                ASSERT_TRUE(std::isnan(got)) << name_of(dtype) << " of " << values[i];
            else
                ASSERT_EQ(got, expected) << name_of(dtype) << " of " << values[i];
            ASSERT_EQ(std::signbit(got), std::signbit(values[i])) << name_of(dtype) << " of " << values[i];
        }
    }
}

TEST_P(PrimitivesTest, LoadsColumnsAsTheTransposeOfRowsWithZerosAround) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16})
        for (const int32_t rows : {1, 15, 16, 33, 128})
            for (const int32_t columns : {8, 16, 72, 256}) {
                std::vector<std::byte> stored(static_cast<size_t>(rows * (columns + 8) * bytes_of(dtype)),
                                              std::byte{0xff});
                TensorView view = contiguous(stored.data(), dtype, {1, 1, rows, columns});
                view.strides[2] = columns + 8;
                for (int32_t r = 0; r < rows; ++r)
                    for (int32_t c = 0; c < columns; ++c) set_element(view, 0, 0, r, c, static_cast<double>(normal()));
                const StoredRows from{stored.data(), (columns + 8) * bytes_of(dtype), dtype, rows, columns};
                std::vector<float> row_storage = normals(128 * 272), column_storage = normals(256 * 144);
                cpu.load_rows(from, {row_storage.data(), 272});
                cpu.load_columns(from, {column_storage.data(), 144});
                for (int32_t r = 0; r < padded(rows); ++r)
                    for (int32_t c = 0; c < padded(columns); ++c) {
                        const bool inside = r < rows && c < columns;
                        const double expected = inside ? element(view, 0, 0, r, c) : 0.0;
                        ASSERT_EQ(static_cast<double>(column_storage[static_cast<size_t>(c * 144 + r)]), expected);
                        if (r >= rows) continue;
                        ASSERT_EQ(static_cast<double>(row_storage[static_cast<size_t>(r * 272 + c)]), expected);
                    }
            }
}

TEST_P(PrimitivesTest, MultipliesWithBothOrdersOfTheLeftOperand) {
    for (const int32_t m : {1, 3, 4, 7, 128})
        for (const int32_t n : {16, 48, 64, 80, 128})
            for (const int32_t k : {1, 8, 127, 128})
                for (const Update update : {Update::kReplace, Update::kAdd}) {
                    const std::vector<float> a = normals(m * k), b = normals(k * 144);
                    std::vector<float> c = normals((m + 1) * 144), transposed(a.size());
                    const std::vector<float> before = c;
                    for (int32_t i = 0; i < m; ++i)
                        for (int32_t l = 0; l < k; ++l)
                            transposed[static_cast<size_t>(l * m + i)] = a[static_cast<size_t>(i * k + l)];
                    std::vector<float> c_transposed = c;
                    const Matrix right{const_cast<float*>(b.data()), 144};
                    cpu.multiply({a.data(), k, 1, right, {c.data(), 144}, m, n, k, update});
                    cpu.multiply({transposed.data(), 1, m, right, {c_transposed.data(), 144}, m, n, k, update});
                    ASSERT_EQ(c, c_transposed);
                    for (int32_t i = 0; i <= m; ++i)
                        for (int32_t j = 0; j < 144; ++j) {
                            const auto at = static_cast<size_t>(i * 144 + j);
                            if (i == m || j >= n) {
                                ASSERT_EQ(c[at], before[at]) << "written outside at " << i << ", " << j;
                                continue;
                            }
                            double sum = update == Update::kAdd ? static_cast<double>(before[at]) : 0.0, size = 1.0;
                            for (int32_t l = 0; l < k; ++l) {
                                const double product = static_cast<double>(a[static_cast<size_t>(i * k + l)]) *
                                                       static_cast<double>(b[static_cast<size_t>(l * 144 + j)]);
                                sum += product;
                                size += std::abs(product);
                            }
                            ASSERT_NEAR(static_cast<double>(c[at]), sum, 1e-6 * size);
                        }
                }
}

TEST_P(PrimitivesTest, ExponentialIsWithinTwoUnitsInTheLastPlace) {
    std::vector<float> x;
    for (float value = -87.3F; value <= 0.0F; value += 0.0007F) x.push_back(value);
    for (int i = 0; i < 1000; ++i) x.push_back(-std::abs(normal()) * 1e-3F);
    while (x.size() % 16 != 0) x.push_back(0.0F);
    std::vector<float> p = x;
    const std::vector<float> zeros(16, 0.0F);
    std::vector<float> sums(16, 0.0F);
    const auto keys = static_cast<int32_t>(x.size() / 16);
    cpu.exponentials({{p.data(), 16}, keys, 16, nullptr}, zeros.data(), sums.data());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double exact = std::exp(static_cast<double>(x[i]));
        const double unit = 2.0 * rounding_of(exact, DType::kFloat32);
        worst = std::max(worst, std::abs(static_cast<double>(p[i]) - exact) / unit);
    }
    EXPECT_LE(worst, 2.0);
    RecordProperty("worst_units", std::to_string(worst));
}

TEST_P(PrimitivesTest, ExponentialOfTheExtremes) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x{0.0F, -kInfinity, -1000.0F, -88.0F, nan, 1.0F, 88.0F, 89.0F, kInfinity, -3e38F};
    x.resize(16, 0.0F);
    const std::vector<float> zeros(16, 0.0F);
    std::vector<float> sums(16, 0.0F);
    cpu.exponentials({{x.data(), 16}, 1, 16, nullptr}, zeros.data(), sums.data());
    EXPECT_EQ(x[0], 1.0F);
    EXPECT_EQ(x[1], 0.0F);
    EXPECT_EQ(x[2], 0.0F);
    EXPECT_EQ(x[3], 0.0F);
    EXPECT_TRUE(std::isnan(x[4]));
    EXPECT_FLOAT_EQ(x[5], 2.7182818F);
    EXPECT_FLOAT_EQ(x[6], 1.6516363e38F);
    EXPECT_EQ(x[7], kInfinity);
    EXPECT_EQ(x[8], kInfinity);
    EXPECT_EQ(x[9], 0.0F);
    EXPECT_TRUE(std::isnan(sums[4]));
}

TEST_P(PrimitivesTest, StencilBitsDecideEveryScore) {
    constexpr int32_t kKeys = 128, kQueries = 128;
    std::vector<uint64_t> stencil(2 * kKeys);
    for (uint64_t& word : stencil) word = random() & random();
    const auto kept = [&](int32_t key, int32_t query) {
        return (stencil[static_cast<size_t>(2 * key + query / 64)] >> (query % 64) & 1) != 0;
    };
    const std::vector<float> scores = normals(kKeys * 144);
    std::vector<float> maximum(128, -kInfinity), masked = scores, probability = scores, gradient = normals(kKeys * 144);
    const std::vector<float> before = gradient, lse = normals(128), delta = normals(128);
    cpu.masked_maximum({{masked.data(), 144}, kKeys, kQueries, stencil.data()}, 0.5F, maximum.data());
    cpu.probabilities({{probability.data(), 144}, kKeys, kQueries, stencil.data()}, 0.5F, lse.data());
    cpu.score_gradients({{probability.data(), 144}, kKeys, kQueries, stencil.data()}, {gradient.data(), 144},
                        delta.data());
    for (int32_t query = 0; query < kQueries; ++query) {
        const auto column = static_cast<size_t>(query);
        float largest = -kInfinity;
        for (int32_t key = 0; key < kKeys; ++key) {
            const auto at = static_cast<size_t>(key * 144 + query);
            const float scaled = 0.5F * scores[at];
            ASSERT_EQ(masked[at], kept(key, query) ? scaled : -kInfinity);
            if (kept(key, query)) {
                largest = std::max(largest, scaled);
                ASSERT_NEAR(probability[at], std::exp(scaled - lse[column]), 1e-6F * probability[at]);
                ASSERT_FLOAT_EQ(gradient[at], probability[at] * (before[at] - delta[column]));
            } else {
                ASSERT_EQ(probability[at], 0.0F);
                ASSERT_EQ(gradient[at], 0.0F);
            }
        }
        ASSERT_EQ(maximum[column], largest);
    }
}

TEST_P(PrimitivesTest, DotOfColumnsHasTheBitsOfAProduct) {
    for (const int32_t rows : {8, 64, 96, 256}) {
        const std::vector<float> x = normals(rows * 144), y = normals(rows * 144);
        std::vector<float> dots(128), products(144);
        cpu.dot_columns({const_cast<float*>(x.data()), 144}, {const_cast<float*>(y.data()), 144}, rows, 128,
                        dots.data());
        for (int32_t column = 0; column < 128; ++column) {
            cpu.multiply({x.data() + column,
                          1,
                          144,
                          {const_cast<float*>(y.data()), 144},
                          {products.data(), 144},
                          1,
                          128,
                          rows,
                          Update::kReplace});
            ASSERT_EQ(dots[static_cast<size_t>(column)], products[static_cast<size_t>(column)]);
        }
    }
}

TEST_P(PrimitivesTest, NamesChooseATable) {
    ASSERT_EQ(setenv("JALI_CPU", std::string(cpu.name).c_str(), 1), 0);
    EXPECT_EQ(&chosen_primitives(), &cpu);
    ASSERT_EQ(unsetenv("JALI_CPU"), 0);
    EXPECT_EQ(&chosen_primitives(), available_primitives().front());
}

}  // namespace
}  // namespace jali::cpu

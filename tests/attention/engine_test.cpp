// The engine against the reference: masks, shapes, dtypes, inputs; each set of primitives that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention/cpu/primitives.h"
#include "support/attention_masks.h"
#include "support/expect_exact.h"
#include "support/random_seed.h"

namespace jali {
namespace {

using reference::Shape;
using test::engine_mask;
using test::GridKind;
using test::NamedKeep;

constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

void expect_matches(const NamedKeep& mask, GridKind grid, const Shape& shape, DType dtype, InputKind inputs) {
    const BlockMask block_mask = engine_mask(mask, grid, shape.batch, shape.q_heads, shape.q_len, shape.kv_len);
    const uint64_t seed = test::seed_for(mask.name + std::string(name_of(dtype)));
    const std::string context = mask.name + ", " + std::string(name_of(dtype)) +
                                (inputs == InputKind::kPeaked ? ", peaked" : ", normal") + ", q_len " +
                                std::to_string(shape.q_len) + ", kv_len " + std::to_string(shape.kv_len) + ", D " +
                                std::to_string(shape.head_dim) + ", Dv " + std::to_string(shape.v_head_dim);
    test::expect_exact(block_mask, mask.keep, {.shape = shape, .dtype = dtype, .inputs = inputs, .seed = seed},
                       context);
}

class EngineByPrimitives : public testing::TestWithParam<const cpu::Primitives*> {
   protected:
    void SetUp() override { setenv("JALI_CPU", std::string(GetParam()->name).c_str(), 1); }
    void TearDown() override { unsetenv("JALI_CPU"); }
};

INSTANTIATE_TEST_SUITE_P(All, EngineByPrimitives, testing::ValuesIn(cpu::available_primitives()),
                         [](const auto& set) { return std::string(set.param->name); });

TEST_P(EngineByPrimitives, EveryMaskMatches) {
    const Shape shape{.q_heads = 2, .kv_heads = 1, .q_len = 389, .kv_len = 411, .head_dim = 64, .v_head_dim = 64};
    for (const NamedKeep& mask : test::engine_masks()) {
        expect_matches(mask, GridKind::kAligned, shape, DType::kFloat32, InputKind::kNormal);
        expect_matches(mask, GridKind::kUneven, shape, DType::kBFloat16, InputKind::kPeaked);
        expect_matches(mask, GridKind::kAligned, shape, DType::kFloat16, InputKind::kPeaked);
    }
}

TEST(Engine, UnevenGridsMatchInEveryDType) {
    const Shape shape{
        .batch = 2, .q_heads = 2, .kv_heads = 2, .q_len = 389, .kv_len = 411, .head_dim = 32, .v_head_dim = 40};
    for (const NamedKeep& mask : test::engine_masks())
        for (const DType dtype : kDTypes) expect_matches(mask, GridKind::kUneven, shape, dtype, InputKind::kNormal);
}

// Near one-hot rows in float32: few pairs decide each error, so many heads are drawn.
TEST(Engine, PeakedFloat32Matches) {
    const Shape shape{
        .batch = 2, .q_heads = 4, .kv_heads = 4, .q_len = 384, .kv_len = 384, .head_dim = 64, .v_head_dim = 64};
    const std::vector<NamedKeep> masks = test::engine_masks();
    for (const size_t index : {size_t{1}, size_t{3}})
        expect_matches(masks[index], GridKind::kAligned, shape, DType::kFloat32, InputKind::kPeaked);
}

TEST_P(EngineByPrimitives, EveryHeadDimensionMatches) {
    const std::vector<NamedKeep> masks = test::engine_masks();
    for (int64_t dim = 8; dim <= 256; dim += 8) {
        const int64_t v_dim = 264 - dim;
        const DType dtype = kDTypes[dim / 8 % 3];
        expect_matches(masks[3], GridKind::kAligned,
                       {.q_heads = 4, .kv_heads = 4, .q_len = 129, .kv_len = 140, .head_dim = dim, .v_head_dim = v_dim},
                       dtype, InputKind::kNormal);
    }
}

TEST(Engine, AdversarialLengthsMatch) {
    const std::vector<NamedKeep> masks = test::engine_masks();
    constexpr int64_t kLengths[] = {127, 129, 257, 521, 1023, 1025};
    size_t turn = 0;
    for (const int64_t q_len : kLengths)
        for (const int64_t kv_len : {kLengths[turn % 6], kLengths[(turn + 3) % 6]}) {
            const NamedKeep& mask = masks[turn % masks.size()];
            expect_matches(mask, turn % 2 == 0 ? GridKind::kUneven : GridKind::kAligned,
                           {.q_len = q_len, .kv_len = kv_len, .head_dim = 32, .v_head_dim = 32}, kDTypes[turn % 3],
                           turn % 3 == 0 ? InputKind::kNormal : InputKind::kPeaked);
            ++turn;
        }
}

// With one query a head, every error of a head's dk comes from one row: only many heads make their mean tell anything.
TEST(Engine, OneQueryOrOneKeyMatches) {
    const std::vector<NamedKeep> masks = test::engine_masks();
    for (const DType dtype : kDTypes) {
        expect_matches(
            masks[0], GridKind::kAligned,
            {.batch = 16, .q_heads = 32, .kv_heads = 32, .q_len = 1, .kv_len = 300, .head_dim = 32, .v_head_dim = 32},
            dtype, InputKind::kNormal);
        expect_matches(
            masks[0], GridKind::kAligned,
            {.batch = 16, .q_heads = 32, .kv_heads = 32, .q_len = 300, .kv_len = 1, .head_dim = 32, .v_head_dim = 32},
            dtype, InputKind::kNormal);
    }
}

TEST(Engine, EveryRatioOfHeadsMatches) {
    const NamedKeep mask = test::engine_masks()[3];
    for (const auto& [q_heads, kv_heads] : {std::pair<int64_t, int64_t>{10, 1}, {6, 2}, {5, 5}, {14, 2}})
        for (const DType dtype : kDTypes)
            expect_matches(mask, GridKind::kUneven,
                           {.batch = 2,
                            .q_heads = q_heads,
                            .kv_heads = kv_heads,
                            .q_len = 140,
                            .kv_len = 150,
                            .head_dim = 24,
                            .v_head_dim = 40},
                           dtype, InputKind::kNormal);
}

TEST(Engine, LengthsOfZero) {
    for (const auto& [q_len, kv_len] : {std::pair<int64_t, int64_t>{0, 128}, {128, 0}, {0, 0}})
        for (const DType dtype : kDTypes) {
            const NamedKeep mask = test::engine_masks()[0];
            const BlockMask block_mask = engine_mask(mask, GridKind::kAligned, 1, 1, q_len, kv_len);
            const Shape shape{.batch = 2,
                              .q_heads = 4,
                              .kv_heads = 2,
                              .q_len = q_len,
                              .kv_len = kv_len,
                              .head_dim = 64,
                              .v_head_dim = 32};
            const AttentionCase values = draw_case(shape, dtype, InputKind::kNormal, 1);
            const CaseResults results = engine_results(values, block_mask, Passes::kForwardAndBackward, {});
            for (const auto* tensor : {&results.out, &results.dq, &results.dk, &results.dv})
                for (const double value : *tensor) EXPECT_EQ(value, 0.0);
            for (const double value : results.lse) EXPECT_EQ(value, -std::numeric_limits<double>::infinity());
        }
}

TEST(Engine, NoBatchesAndNoHeads) {
    const BlockMask mask = engine_mask(test::engine_masks()[1], GridKind::kAligned, 1, 1, 130, 130);
    for (const auto& [batch, heads] : {std::pair<int64_t, int64_t>{0, 2}, {2, 0}}) {
        const Shape shape{.batch = batch,
                          .q_heads = heads,
                          .kv_heads = heads,
                          .q_len = 130,
                          .kv_len = 130,
                          .head_dim = 16,
                          .v_head_dim = 16};
        const AttentionCase values = draw_case(shape, DType::kFloat32, InputKind::kNormal, 1);
        EXPECT_TRUE(engine_results(values, mask, Passes::kForwardAndBackward, {}).dq.empty());
    }
}

TEST(Engine, ScalesOfAnySignMatch) {
    const NamedKeep mask = test::engine_masks()[1];
    const Shape shape{.q_len = 200, .kv_len = 200, .head_dim = 64, .v_head_dim = 64};
    const BlockMask block_mask = engine_mask(mask, GridKind::kUneven, 1, 1, 200, 200);
    for (const double scale : {-0.125, 0.0, 0.7, 1e-4}) {
        CheckOptions options{.shape = shape, .dtype = DType::kBFloat16, .seed = test::seed_for("scale")};
        options.attention.scale = scale;
        test::expect_exact(block_mask, mask.keep, options, "scale " + std::to_string(scale));
    }
}

// Scores from -3000 to 3000: differences from the maximum underflow, some of them after a rescale.
TEST(Engine, LargeScoresNeitherOverflowNorMakeNaN) {
    const NamedKeep mask = test::engine_masks()[1];
    const Shape shape{.q_len = 400, .kv_len = 400, .head_dim = 64, .v_head_dim = 64};
    CheckOptions options{.shape = shape, .dtype = DType::kFloat16, .seed = test::seed_for("large scores")};
    options.attention.scale = 60.0;
    test::expect_exact(engine_mask(mask, GridKind::kAligned, 1, 1, 400, 400), mask.keep, options, mask.name);
}

TEST(Engine, ListsItsInstructionSet) {
    ASSERT_EQ(engines().size(), 1U);
    EXPECT_EQ(engines().front().name, "cpu");
    EXPECT_NE(engines().front().description.find(cpu::chosen_primitives().name), std::string::npos);
}

}  // namespace
}  // namespace jali

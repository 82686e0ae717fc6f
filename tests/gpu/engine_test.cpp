// The GPU engine against the reference, by the rules that the CPU engine is held to. Skipped where there is no GPU that
// kernels are built for; `./dev gpu test` runs them on a machine that has one and lets nothing be skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "attention/check.h"
#include "gpu/gpu.h"
#include "jali/predicate_text.h"
#include "support/attention_masks.h"
#include "support/expect_exact.h"
#include "support/random_seed.h"

namespace jali {
namespace {

using reference::Shape;
using test::engine_mask;
using test::GridKind;
using test::NamedKeep;

constexpr DType kDTypes[] = {DType::kBFloat16, DType::kFloat16};

void expect_matches(const NamedKeep& mask, GridKind grid, const Shape& shape, DType dtype, InputKind inputs) {
    const BlockMask block_mask = engine_mask(mask, grid, shape.batch, shape.q_heads, shape.q_len, shape.kv_len);
    const std::string context = mask.name + ", " + std::string(name_of(dtype)) +
                                (inputs == InputKind::kPeaked ? ", peaked" : ", normal") + ", heads " +
                                std::to_string(shape.q_heads) + "/" + std::to_string(shape.kv_heads) + ", q_len " +
                                std::to_string(shape.q_len) + ", kv_len " + std::to_string(shape.kv_len) + ", D " +
                                std::to_string(shape.head_dim) + ", Dv " + std::to_string(shape.v_head_dim);
    CheckOptions options{.shape = shape, .dtype = dtype, .inputs = inputs, .seed = test::seed_for(mask.name)};
    options.attention.engine = "cuda";
    test::expect_exact(block_mask, mask.keep, options, context);
}

class GpuEngine : public test::OnGpu {};

TEST_F(GpuEngine, EveryMaskMatches) {
    const Shape shape{
        .batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 389, .kv_len = 411, .head_dim = 128, .v_head_dim = 128};
    for (const NamedKeep& mask : test::engine_masks())
        for (const GridKind grid : {GridKind::kAligned, GridKind::kUneven})
            for (const InputKind inputs : {InputKind::kNormal, InputKind::kPeaked})
                for (const DType dtype : kDTypes) expect_matches(mask, grid, shape, dtype, inputs);
}

TEST_F(GpuEngine, EveryHeadDimensionMatches) {
    const std::vector<NamedKeep> masks = test::engine_masks();
    for (int64_t dim = 8; dim <= 128; dim += 8)
        expect_matches(masks[3], GridKind::kUneven,
                       {.batch = 2,
                        .q_heads = 4,
                        .kv_heads = 4,
                        .q_len = 129,
                        .kv_len = 140,
                        .head_dim = dim,
                        .v_head_dim = 136 - dim},
                       kDTypes[dim / 8 % 2], InputKind::kNormal);
}

TEST_F(GpuEngine, AdversarialLengthsMatch) {
    const std::vector<NamedKeep> masks = test::engine_masks();
    constexpr int64_t kLengths[] = {1, 63, 64, 65, 127, 128, 129, 257, 521, 1023, 1025};
    size_t turn = 0;
    for (const int64_t q_len : kLengths)
        for (const int64_t kv_len : kLengths) {
            ++turn;
            if ((turn + static_cast<size_t>(q_len)) % 3 != 0) continue;
            // Few rows or keys make the largest error a matter of luck.
            const bool is_short = std::min(q_len, kv_len) < 128;
            const int64_t heads = is_short ? 16 : 4;
            expect_matches(masks[turn % masks.size()], turn % 2 == 0 ? GridKind::kUneven : GridKind::kAligned,
                           {.batch = 4,
                            .q_heads = heads,
                            .kv_heads = heads,
                            .q_len = q_len,
                            .kv_len = kv_len,
                            .head_dim = 128,
                            .v_head_dim = 128},
                           kDTypes[turn % 2], turn % 3 == 0 || is_short ? InputKind::kNormal : InputKind::kPeaked);
        }
}

TEST_F(GpuEngine, EveryRatioOfHeadsMatches) {
    const NamedKeep mask = test::engine_masks()[3];
    for (const auto& [q_heads, kv_heads] : {std::pair<int64_t, int64_t>{10, 1}, {6, 2}, {5, 5}, {14, 2}})
        for (const DType dtype : kDTypes)
            expect_matches(mask, GridKind::kUneven,
                           {.batch = 2,
                            .q_heads = q_heads,
                            .kv_heads = kv_heads,
                            .q_len = 140,
                            .kv_len = 150,
                            .head_dim = 128,
                            .v_head_dim = 64},
                           dtype, InputKind::kNormal);
}

TEST_F(GpuEngine, LengthsOfZeroAndNoHeads) {
    const NamedKeep mask = test::engine_masks()[0];
    for (const auto& [q_len, kv_len] : {std::pair<int64_t, int64_t>{0, 128}, {128, 0}, {0, 0}})
        expect_matches(mask, GridKind::kAligned,
                       {.batch = 2,
                        .q_heads = 4,
                        .kv_heads = 2,
                        .q_len = q_len,
                        .kv_len = kv_len,
                        .head_dim = 64,
                        .v_head_dim = 32},
                       DType::kBFloat16, InputKind::kNormal);
    for (const auto& [batch, heads] : {std::pair<int64_t, int64_t>{0, 2}, {2, 0}})
        expect_matches(mask, GridKind::kAligned,
                       {.batch = batch,
                        .q_heads = heads,
                        .kv_heads = heads,
                        .q_len = 130,
                        .kv_len = 130,
                        .head_dim = 16,
                        .v_head_dim = 16},
                       DType::kBFloat16, InputKind::kNormal);
}

TEST_F(GpuEngine, ScalesOfAnySignMatch) {
    const NamedKeep mask = test::engine_masks()[1];
    const Shape shape{
        .batch = 2, .q_heads = 2, .kv_heads = 2, .q_len = 200, .kv_len = 200, .head_dim = 64, .v_head_dim = 64};
    for (const double scale : {-0.125, 0.0, 0.7, 1e-4}) {
        CheckOptions options{.shape = shape, .dtype = DType::kBFloat16, .seed = test::seed_for("scale")};
        options.attention.scale = scale;
        options.attention.engine = "cuda";
        test::expect_exact(engine_mask(mask, GridKind::kUneven, 1, 1, 200, 200), mask.keep, options,
                           "scale " + std::to_string(scale));
    }
}

TEST_F(GpuEngine, LargeScoresNeitherOverflowNorMakeNaN) {
    const NamedKeep mask = test::engine_masks()[1];
    const Shape shape{
        .batch = 2, .q_heads = 2, .kv_heads = 2, .q_len = 400, .kv_len = 400, .head_dim = 64, .v_head_dim = 64};
    CheckOptions options{.shape = shape, .dtype = DType::kFloat16, .seed = test::seed_for("large scores")};
    options.attention.scale = 60.0;
    options.attention.engine = "cuda";
    test::expect_exact(engine_mask(mask, GridKind::kAligned, 1, 1, 400, 400), mask.keep, options, mask.name);
}

std::vector<MaskSpecification> zoo() {
    std::ifstream file(JALI_TEST_DATA "/masks.json");
    std::ostringstream text;
    text << file.rdbuf();
    return parse_specifications(text.str());
}

class GpuZoo : public test::OnGpu, public testing::WithParamInterface<MaskSpecification> {};

INSTANTIATE_TEST_SUITE_P(Masks, GpuZoo, testing::ValuesIn(zoo()), [](const auto& entry) { return entry.param.name; });

TEST_P(GpuZoo, MatchesTheReference) {
    const MaskSpecification& spec = GetParam();
    if (spec.domain.batch * spec.domain.heads * spec.domain.q_len * spec.domain.kv_len > (int64_t{1} << 24))
        return;  // the reference would take minutes; the command's samples cover those
    // Few rows make the largest error a matter of luck.
    const int64_t heads =
        spec.domain.heads > 1 ? spec.domain.heads : std::clamp<int64_t>(256 / spec.domain.q_len, 4, 256);
    const Shape shape{.batch = spec.domain.batch,
                      .q_heads = heads,
                      .kv_heads = heads,
                      .q_len = spec.domain.q_len,
                      .kv_len = spec.domain.kv_len,
                      .head_dim = 128,
                      .v_head_dim = 128};
    const reference::Keep keep = [&spec](int64_t b, int64_t h, int64_t q, int64_t kv) {
        return evaluate(spec.predicate, spec.domain, spec.domain.batch == 1 ? 0 : b, spec.domain.heads == 1 ? 0 : h, q,
                        kv);
    };
    for (const GridChoice grid : {GridChoice::kAligned, GridChoice::kAnchored}) {
        BuildOptions build;
        build.domain = spec.domain;
        build.grid = grid;
        CheckOptions options{
            .shape = shape, .dtype = DType::kBFloat16, .inputs = InputKind::kPeaked, .seed = test::seed_for(spec.name)};
        options.attention.engine = "cuda";
        test::expect_exact(build_block_mask(spec.predicate, build), keep, options, spec.name);
    }
}

}  // namespace
}  // namespace jali

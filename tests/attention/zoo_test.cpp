// Every mask of tests/data/masks.json, on both grids, through the engine against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "jali/predicate_text.h"
#include "support/expect_exact.h"
#include "support/random_seed.h"

namespace jali {

// Found by GoogleTest: names the entry of a failure.
static void PrintTo(const MaskSpecification& spec, std::ostream* out) {
    *out << spec.name;
}

namespace {

std::vector<MaskSpecification> zoo() {
    std::ifstream file(JALI_TEST_DATA "/masks.json");
    std::stringstream text;
    text << file.rdbuf();
    return parse_specifications(text.str());
}

// The predicate asked once a pair, by walking its tree; h is that of the spec where it has more than one head.
reference::Keep evaluated(const MaskSpecification& spec) {
    const Domain n = spec.domain;
    auto kept = std::make_shared<std::vector<bool>>();
    for (int64_t b = 0; b < n.batch; ++b)
        for (int64_t h = 0; h < n.heads; ++h)
            for (int64_t q = 0; q < n.q_len; ++q)
                for (int64_t kv = 0; kv < n.kv_len; ++kv) kept->push_back(evaluate(spec.predicate, n, b, h, q, kv));
    return [kept, n](int64_t b, int64_t h, int64_t q, int64_t kv) {
        return (*kept)[static_cast<size_t>(((b * n.heads + h % n.heads) * n.q_len + q) * n.kv_len + kv)];
    };
}

class SlowZoo : public testing::TestWithParam<MaskSpecification> {};

INSTANTIATE_TEST_SUITE_P(Masks, SlowZoo, testing::ValuesIn(zoo()), [](const auto& entry) { return entry.param.name; });

TEST_P(SlowZoo, MatchesTheReference) {
    const MaskSpecification& spec = GetParam();
    const reference::Keep keep = evaluated(spec);
    // Few rows, or few heads in float32, make the largest error a matter of luck.
    const int64_t enough =
        spec.domain.heads > 1 ? spec.domain.heads : std::clamp<int64_t>(256 / spec.domain.q_len, 4, 32);
    const reference::Shape shape{.batch = spec.domain.batch,
                                 .q_heads = enough,
                                 .kv_heads = enough,
                                 .q_len = spec.domain.q_len,
                                 .kv_len = spec.domain.kv_len,
                                 .head_dim = 64,
                                 .v_head_dim = 40};
    struct Choice {
        GridChoice grid;
        DType dtype;
        InputKind inputs;
    };
    // One row with a softmax near one-hot: what cancellation leaves of a head's gradients is rounding and nothing else.
    const InputKind inputs = spec.domain.q_len < 16 ? InputKind::kNormal : InputKind::kPeaked;
    for (const Choice& choice : {Choice{GridChoice::kAligned, DType::kBFloat16, inputs},
                                 Choice{GridChoice::kAnchored, DType::kFloat32, InputKind::kNormal}}) {
        BuildOptions build;
        build.domain = spec.domain;
        build.grid = choice.grid;
        const BlockMask mask = build_block_mask(spec.predicate, build);
        test::expect_exact(
            mask, keep,
            {.shape = shape, .dtype = choice.dtype, .inputs = choice.inputs, .seed = test::seed_for(spec.name)},
            std::string(name_of(choice.dtype)));
    }
}

}  // namespace
}  // namespace jali

// Interval arithmetic is held to the definition: whatever it decides must be so at every pair of the region.
#include "mask/interval.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "jali/error.h"
#include "jali/predicate_text.h"
#include "mask/program.h"
#include "support/random_predicate.h"

namespace jali {
namespace {

RC_GTEST_PROP(Interval, HoldsEveryValueOfTheRegion, ()) {
    const Domain domain{.batch = 1,
                        .heads = 1,
                        .q_len = *rc::gen::inRange<int64_t>(1, 400),
                        .kv_len = *rc::gen::inRange<int64_t>(1, 400)};
    const auto genome = *rc::gen::container<std::vector<uint32_t>>(rc::gen::arbitrary<uint32_t>());
    const Predicate keep =
        test::decode_predicate(genome, {.q_len = domain.q_len, .kv_len = domain.kv_len, .may_fail = true});
    RC_LOG() << "predicate: " << to_text(keep) << "\n";
    const Program program = compile(keep, domain, 0, 0);
    std::vector<Interval> values;
    for (int trial = 0; trial < 4; ++trial) {
        Region region{};
        region.q_first = *rc::gen::inRange<int64_t>(0, domain.q_len);
        region.q_last = *rc::gen::inRange<int64_t>(region.q_first, std::min(domain.q_len, region.q_first + 20));
        region.kv_first = *rc::gen::inRange<int64_t>(0, domain.kv_len);
        region.kv_last = *rc::gen::inRange<int64_t>(region.kv_first, std::min(domain.kv_len, region.kv_first + 20));
        const Interval interval = intervals_over(program, region, values);
        for (int64_t q = region.q_first; q <= region.q_last; ++q) {
            for (int64_t kv = region.kv_first; kv <= region.kv_last; ++kv) {
                try {
                    const int64_t value = evaluate(keep, domain, 0, 0, q, kv) ? 1 : 0;
                    RC_ASSERT(interval.lo <= value && value <= interval.hi);
                } catch (const EvaluationError&) {
                    RC_ASSERT(interval.may_fail);
                }
            }
        }
    }
}

// What the builder's speed rests on: these must be decided without looking at pairs.
struct Decision {
    const char* text;
    Region region;
    int64_t value;
};

class IntervalDecides : public testing::TestWithParam<Decision> {};

TEST_P(IntervalDecides, TheWholeRegion) {
    const Domain domain{.batch = 1, .heads = 1, .q_len = 4096, .kv_len = 4096};
    Bindings bindings;
    const std::vector<int64_t> lengths{1000, 24, 1000, 2072};
    const std::vector<int64_t> offsets{0, 1000, 1024, 2024, 4096};
    bindings.tables.emplace("doc", Table::documents("doc", lengths));
    bindings.tables.emplace("begin", Table("begin", offsets));
    bindings.tables.emplace("keep", Table::booleans("keep", std::vector<uint8_t>(64, 1), {8, 8}));
    const Program program = compile(parse_predicate(GetParam().text, bindings).predicate, domain, 0, 0);
    std::vector<Interval> values;
    const Interval interval = intervals_over(program, GetParam().region, values);
    EXPECT_TRUE(interval.decided());
    EXPECT_EQ(interval.lo, GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    Masks, IntervalDecides,
    testing::Values(Decision{"q >= kv", {128, 255, 0, 127}, 1}, Decision{"q >= kv", {0, 127, 128, 255}, 0},
                    Decision{"3 * q - 2 * kv + q > kv + 5 + q", {300, 400, 0, 200}, 1},
                    Decision{"q - kv == q - kv", {0, 4095, 0, 4095}, 1},
                    Decision{"abs(q - kv) <= 100", {0, 127, 300, 400}, 0},
                    Decision{"doc[q] == doc[kv]", {1024, 1100, 1200, 1300}, 1},
                    Decision{"doc[q] == doc[kv]", {0, 999, 1000, 4095}, 0},
                    Decision{"begin[doc[q]] <= kv and kv < begin[doc[q] + 1]", {1030, 1100, 1024, 2000}, 1},
                    Decision{"q // 192 == kv // 192", {192, 250, 200, 383}, 1},
                    Decision{"q % 64 < 16", {128, 143, 0, 4095}, 1}, Decision{"(q & 127) < 16", {128, 143, 0, 4095}, 1},
                    Decision{"(q & ~127) == 128", {128, 255, 0, 4095}, 1},
                    Decision{"keep[q // 512, kv // 512]", {0, 4095, 0, 4095}, 1},
                    Decision{"kv < 100 and keep[kv // 16, 0]", {0, 127, 0, 99}, 1},
                    Decision{"(q >> 7) == 1 or kv << 2 < 0", {128, 255, 0, 4095}, 1}));

}  // namespace
}  // namespace jali

// A predicate that fails at a real pair is reported with its first failing pair and its exact words.
#include <gtest/gtest.h>

#include <limits>

#include "jali/block_mask.h"
#include "jali/error.h"
#include "jali/predicate_text.h"

namespace jali {
namespace {

using namespace indices;

const Domain kDomain{.batch = 2, .heads = 2, .q_len = 300, .kv_len = 300};

// Building reports the first failing pair in (b, h, q, kv) order, as evaluating pair by pair would.
struct Failing {
    const char* text;
    const char* message;
};
class FailingPredicate : public testing::TestWithParam<Failing> {};

TEST_P(FailingPredicate, IsReportedWithItsFourIndices) {
    Bindings bindings;
    bindings.scalars["w"] = std::numeric_limits<int64_t>::max();
    bindings.tables.emplace("t", Table("t", std::vector<int64_t>(200, 0)));
    bindings.tables.emplace("g", Table::integers("g", std::vector<int64_t>(6, 1), {2, 3}));
    bindings.tables.emplace("none", Table("none", std::vector<int64_t>{}));
    const Predicate keep = parse_predicate(GetParam().text, bindings).predicate;
    for (const GridChoice grid : {GridChoice::kAutomatic, GridChoice::kAligned, GridChoice::kAnchored}) {
        try {
            build_block_mask(keep, {.domain = kDomain, .grid = grid});
            FAIL() << "built";
        } catch (const EvaluationError& error) {
            EXPECT_STREQ(error.what(), GetParam().message);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Messages, FailingPredicate,
    testing::Values(
        Failing{"t[kv] == 0", "table t has 200 entries but is read at 200 in t[kv] at b = 0, h = 0, q = 0, kv = 200"},
        Failing{"t[q] == t[kv - 1]",
                "table t has 200 entries but is read at -1 in t[kv - 1] at b = 0, h = 0, q = 0, kv = 0"},
        Failing{"q < 250 or t[q - 40] == 0",
                "table t has 200 entries but is read at 210 in t[q - 40] at b = 0, h = 0, q = 250, kv = 0"},
        Failing{"g[b, h + kv // 140] > 0",
                "table g has 3 entries along dimension 1 but is read at 3 in g[b, h + kv // "
                "140] at b = 0, h = 1, q = 0, kv = 280"},
        Failing{"none[q] == 0", "table none has 0 entries but is read at 0 in none[q] at b = 0, h = 0, q = 0, kv = 0"},
        Failing{"kv // (q - 131) > 0", "division of 0 by zero in kv // (q - 131) at b = 0, h = 0, q = 131, kv = 0"},
        Failing{"kv % (q - kv) > 0", "division of 0 by zero in kv % (q - kv) at b = 0, h = 0, q = 0, kv = 0"},
        Failing{"q + w > 0",
                "the value for 1 and 9223372036854775807 does not fit in 64 bits in q + w at b = 0, h = 0, "
                "q = 1, kv = 0"},
        Failing{"q * w > 0",
                "the value for 2 and 9223372036854775807 does not fit in 64 bits in q * w at b = 0, h = 0, "
                "q = 2, kv = 0"},
        Failing{"-(-w - 1) == q",
                "the value for -9223372036854775808 does not fit in 64 bits in -(-w - 1) at b = 0, h "
                "= 0, q = 0, kv = 0"},
        Failing{"1 << (q - kv - 200) > 0",
                "shift of 1 by the negative count -200 in 1 << q - kv - 200 at b = 0, h = 0, "
                "q = 0, kv = 0"},
        Failing{"kv < 100 or 1 << (kv - 100) > 0",
                "the value for 1 and 63 does not fit in 64 bits in 1 << kv - 100 at b "
                "= 0, h = 0, q = 0, kv = 163"}));

TEST(FirstFailure, IsFirstByQueryThenKey) {
    const Table t("t", std::vector<int64_t>(290, 0));
    // Fails where q + kv >= 500: first at q = 201, kv = 299; tiles further left fail only in later rows.
    try {
        build_block_mask(t[q + kv - 210] == 0 || q + kv < 210, {.domain = kDomain, .grid = GridChoice::kAligned});
        FAIL() << "built";
    } catch (const EvaluationError& error) {
        EXPECT_EQ(error.q(), 0);
        EXPECT_EQ(error.kv(), 0);
    }
    try {
        build_block_mask(q + kv < 210 || t[q + kv - 210] == 0, {.domain = kDomain, .grid = GridChoice::kAligned});
        FAIL() << "built";
    } catch (const EvaluationError& error) {
        EXPECT_EQ(error.q(), 201);
        EXPECT_EQ(error.kv(), 299);
    }
}

TEST(FirstFailure, IsSoughtInLaterBatchesAndHeads) {
    const Table size("size", std::vector<int64_t>{1, 1, 0, 1});
    try {
        build_block_mask(floor_div(kv, size[2 * b + h]) >= 0, {.domain = kDomain});
        FAIL() << "built";
    } catch (const EvaluationError& error) {
        EXPECT_EQ(error.b(), 1);
        EXPECT_EQ(error.h(), 0);
    }
}

}  // namespace
}  // namespace jali

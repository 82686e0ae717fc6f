// The definition itself: Python's arithmetic and short-circuits.
#include <gtest/gtest.h>

#include <limits>

#include "jali/error.h"
#include "jali/predicate.h"

namespace jali {
namespace {

using namespace indices;

const Domain kDomain{.batch = 2, .heads = 2, .q_len = 300, .kv_len = 300};

bool holds(const Predicate& keep, int64_t at_q = 0, int64_t at_kv = 0) {
    return evaluate(keep, kDomain, 0, 0, at_q, at_kv);
}

// Quotient and remainder as Python gives them.
TEST(Evaluate, DivisionFloors) {
    struct Case {
        int64_t x, y, quotient, remainder;
    };
    for (const Case& c :
         {Case{7, 2, 3, 1}, Case{-7, 2, -4, 1}, Case{7, -2, -4, -1}, Case{-7, -2, 3, -1}, Case{6, 3, 2, 0},
          Case{-6, 3, -2, 0}, Case{0, 5, 0, 0}, Case{1, 100, 0, 1}, Case{-1, 100, -1, 99},
          Case{std::numeric_limits<int64_t>::min(), 3, -3074457345618258603, 1}}) {
        EXPECT_TRUE(holds(floor_div(c.x, Expression(c.y)) == c.quotient)) << c.x << " // " << c.y;
        EXPECT_TRUE(holds(floor_mod(c.x, Expression(c.y)) == c.remainder)) << c.x << " % " << c.y;
    }
    EXPECT_TRUE(holds(floor_mod(std::numeric_limits<int64_t>::min(), Expression(-1)) == 0));
}

TEST(Evaluate, ShiftsAreExactOrFail) {
    EXPECT_TRUE(holds(Expression(1) << Expression(62) == int64_t{1} << 62));
    EXPECT_TRUE(holds((Expression(-1) << Expression(63)) == std::numeric_limits<int64_t>::min()));
    EXPECT_TRUE(holds((Expression(0) << Expression(1000)) == 0));
    EXPECT_TRUE(holds((Expression(-5) >> Expression(1)) == -3));
    EXPECT_TRUE(holds((Expression(-5) >> Expression(1000)) == -1));
    EXPECT_THROW(holds((Expression(1) << Expression(63)) == 0), EvaluationError);
}

TEST(Evaluate, BooleansCountAsZeroAndOneAmongIntegers) {
    EXPECT_TRUE(holds((q >= kv) + (kv >= q) == 2, 5, 5));
    EXPECT_TRUE(holds(((q >= kv) ^ 3) == 2, 5, 5));
    EXPECT_TRUE(holds(abs(q > kv) == 1, 5, 4));
    EXPECT_TRUE(holds(minimum(q > kv, true), 5, 4));
    EXPECT_EQ(minimum(q > kv, true).type(), ValueType::kBoolean);
    EXPECT_EQ((~(q > kv)).type(), ValueType::kBoolean);
    EXPECT_EQ((~(q > kv) & 1).type(), ValueType::kInteger);
}

TEST(Evaluate, ShortCircuitsSkipWhatPythonSkips) {
    const Table ok("ok", std::vector<int64_t>{1, 0, 1});
    EXPECT_FALSE(holds(kv < 3 && ok[kv] != 0, 0, 7));
    EXPECT_TRUE(holds(kv >= 3 || ok[kv] != 0, 0, 7));
    EXPECT_TRUE(holds(select(kv < 3, ok[kv] != 0, true), 0, 7));
    EXPECT_THROW(holds((kv < 3) & (ok[kv] != 0), 0, 7), EvaluationError);
    EXPECT_THROW(holds(where(kv < 3, ok[kv] != 0, true), 0, 7), EvaluationError);
}

}  // namespace
}  // namespace jali

// Making trees: what operands an operation takes, tables, simplification, and the errors of each.
#include <gtest/gtest.h>

#include "jali/error.h"
#include "jali/predicate.h"
#include "jali/predicate_text.h"
#include "mask/node.h"
#include "mask/range_pyramid.h"

namespace jali {
namespace {

using namespace indices;

template <class Action>
std::string message_of(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Expression, IntegerPredicateIsRefused) {
    EXPECT_EQ(message_of([] { Predicate keep = q - kv; }),
              "the predicate is an integer and must be a boolean: compare it, for example with != 0");
}

TEST(Expression, LogicalOperatorsTakeBooleans) {
    EXPECT_EQ(message_of([] { (void)(q >= kv && q); }),
              "and needs a boolean but operand 2 is an integer: compare it, for example with != 0");
    EXPECT_EQ(message_of([] { (void)!q; }),
              "not needs a boolean but operand 1 is an integer: compare it, for example with != 0");
    EXPECT_EQ(message_of([] { (void)select(q, kv, kv); }),
              "if else needs a boolean but operand 1 is an integer: compare it, for example with != 0");
}

TEST(Expression, AmpersandIsLogicalOnBooleansAndBitwiseOnIntegers) {
    EXPECT_EQ(((q >= kv) & (q > 3)).node().op, Op::kLogicalAnd);
    EXPECT_EQ((q & 3).node().op, Op::kBitAnd);
    EXPECT_EQ(((q >= kv) & 1).node().op, Op::kBitAnd);
    EXPECT_EQ((~(q >= kv)).node().op, Op::kLogicalNot);
}

TEST(Expression, ConstantsMustFit) {
    EXPECT_EQ(message_of([] { Expression x(uint64_t{1} << 63); }),
              "the constant 9223372036854775808 does not fit in 64 signed bits");
    EXPECT_EQ(Expression(uint64_t{7}).node().value, 7);
    EXPECT_EQ(Expression(true).type(), ValueType::kBoolean);
}

TEST(Expression, DepthAndSizeAreLimited) {
    EXPECT_NE(message_of([] {
                  Expression sum = q;
                  for (int32_t i = 0; i < kMaximumDepth; ++i) sum = sum + 1;
              }).find("nested more than"),
              std::string::npos);
    EXPECT_NE(message_of([] {
                  Expression doubled = q;
                  for (int i = 0; i < 64; ++i) doubled = doubled + doubled;
              }).find("more than"),
              std::string::npos);
}

TEST(Expression, UnusedIndicesAreNoticedAfterSimplification) {
    EXPECT_FALSE(Predicate(q >= kv).uses_b());
    EXPECT_TRUE(Predicate(q >= kv || b == 1).uses_b());
    EXPECT_FALSE(Predicate(q >= kv || (false && b == 1)).uses_b());
    EXPECT_TRUE(Predicate(h < 2).uses_h());
}

TEST(Simplify, FoldsConstantsAndDoubleNegation) {
    EXPECT_EQ(to_text(simplify(q >= Expression(2) + 3)), "q >= 5");
    EXPECT_EQ(to_text(simplify(!!(q >= kv))), "q >= kv");
    EXPECT_EQ(to_text(simplify(true && q >= kv)), "q >= kv");
    EXPECT_EQ(to_text(simplify(q >= kv && false)), "q >= kv and False");  // q >= kv is evaluated; so are its errors
    EXPECT_EQ(to_text(simplify(select(Expression(1) < 2, q >= kv, kv > q))), "q >= kv");
}

TEST(Simplify, KeepsOperationsThatFail) {
    EXPECT_EQ(to_text(simplify(floor_div(1, Expression(0)) == q)), "1 // 0 == q");
    EXPECT_EQ(to_text(simplify(Expression(INT64_MAX) + 1 == q)), "9223372036854775807 + 1 == q");
}

TEST(Table, DocumentsAreNumberedFromLengthsOrOffsets) {
    const Table doc = Table::documents("doc", std::vector<int64_t>{2, 0, 3});
    EXPECT_EQ(std::vector<int64_t>(doc.integers().begin(), doc.integers().end()),
              (std::vector<int64_t>{0, 0, 2, 2, 2}));
    EXPECT_TRUE(doc.same_values(Table::documents_from_offsets("x", std::vector<int64_t>{0, 2, 2, 5})));
}

TEST(Table, ImpossibleTablesAreRefused) {
    const std::vector<int64_t> six(6);
    EXPECT_EQ(message_of([&] {
                  Table::integers("t", six, {2, 4});
              }),
              "table t of shape [2, 4] needs 8 values but has 6");
    EXPECT_EQ(message_of([&] { Table::integers("t", six, {}); }), "table t has rank 0 and must have rank 1 to 4");
    EXPECT_EQ(message_of([&] {
                  Table::integers("t", six, {1, 1, 1, 1, 6});
              }),
              "table t has rank 5 and must have rank 1 to 4");
    EXPECT_EQ(message_of([&] { Table::integers("t", six, {-6}); }),
              "table t has an extent of -6 and each must be 0 to 2147483647");
    EXPECT_EQ(message_of([] {
                  Table::documents("doc", std::vector<int64_t>{3, -1});
              }),
              "document 1 of table doc has length -1");
    EXPECT_EQ(message_of([] {
                  Table::documents_from_offsets("doc", std::vector<int64_t>{0, 5, 3});
              }),
              "the offsets of table doc fall from 5 to 3 at position 2");
    EXPECT_EQ(message_of([] { Table::documents_from_offsets("doc", std::vector<int64_t>{1}); }),
              "the offsets of table doc must begin with 0");
}

TEST(Table, IsReadWithAsManyIndicesAsItsRank) {
    const Table grid = Table::integers("grid", std::vector<int64_t>(6), {2, 3});
    EXPECT_EQ(message_of([&] { (void)grid[q]; }), "table grid has rank 2 but is read with 1 index");
    EXPECT_EQ(message_of([&] { (void)grid(q, kv, 0); }), "table grid has rank 2 but is read with 3 indices");
}

TEST(RangePyramid, AgreesWithLookingAtEveryValue) {
    std::vector<int64_t> values;
    for (uint64_t i = 0; i < 300; ++i) values.push_back(static_cast<int64_t>(i * 7919 % 101) - 50);
    const RangePyramid<int64_t> pyramid(values);
    for (size_t first = 0; first < values.size(); ++first) {
        int64_t lo = values[first], hi = values[first];
        for (size_t last = first; last < values.size(); ++last) {
            lo = std::min(lo, values[last]);
            hi = std::max(hi, values[last]);
            const ValueRange range = pyramid.range(static_cast<int64_t>(first), static_cast<int64_t>(last));
            ASSERT_EQ(range.lo, lo) << first << " to " << last;
            ASSERT_EQ(range.hi, hi) << first << " to " << last;
        }
    }
}

}  // namespace
}  // namespace jali

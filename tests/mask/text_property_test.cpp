// Every tree that can be made prints as text, and as JSON, that gives the same tree back.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jali/predicate_text.h"

namespace jali {
namespace {

using namespace indices;

// rapidcheck prints its seed, and JALI_SEED gives it back.
[[maybe_unused]] const bool kSeeded = [] {
    const char* seed = std::getenv("JALI_SEED");
    return seed != nullptr && setenv("RC_PARAMS", (std::string("seed=") + seed).c_str(), 0) == 0;
}();

const std::vector<int64_t> kIntegers{0, 1, 2, 3, 4, 5};
const std::vector<uint8_t> kBooleans{1, 0};

// Tables of one name, without a name, and with names that the text form does not have. Scalars are bound by what is
// printed, so theirs are legal here and differ.
const std::vector<Table> kTables{
    Table("doc", kIntegers),
    Table::integers("doc", kIntegers, {2, 3}),
    Table::booleans("doc", kBooleans, {2}),
    Table::integers("doc_2", kIntegers, {1, 2, 3}),
    Table::booleans("", kBooleans, {1, 1, 2, 1}),
    Table::integers("", kIntegers, {6, 1}),
    Table("q", kIntegers),
    Table("doc 2", kIntegers),
};

// A tree made of the choices that random bytes stand for: shorter lists of smaller bytes are simpler trees.
class Grower {
   public:
    explicit Grower(std::vector<uint8_t> choices) : choices_(std::move(choices)) {}

    Expression grow(ValueType type, int depth) {
        Expression tree = type == ValueType::kBoolean ? boolean(depth) : integer(depth);
        if (tree.type() == type) made_.push_back(tree);
        return tree;
    }

   private:
    uint8_t choose(int count) {
        const int choice = next_ < choices_.size() ? choices_[next_++] : 0;
        return static_cast<uint8_t>(choice % count);
    }
    Expression any(int depth) { return grow(choose(3) == 0 ? ValueType::kBoolean : ValueType::kInteger, depth); }

    Expression leaf(ValueType type) {
        if (type == ValueType::kBoolean) return choose(2) == 0;
        switch (choose(8)) {
            case 0:
                return choose(2) == 0 ? q : kv;
            case 1:
                return choose(2) == 0 ? b : h;
            case 2:
                return choose(2) == 0 ? q_len : kv_len;
            case 3:
                return choose(2) == 0 ? scalar("w", 300) : scalar("t", -1);
            case 4:
                return std::numeric_limits<int64_t>::min() + choose(2);
            case 5:
                return std::numeric_limits<int64_t>::max();
            default:
                return static_cast<int>(choose(7)) - 3;
        }
    }

    // A tree that was made before, so that nodes are shared.
    Expression again(ValueType type) {
        std::vector<Expression> possible;
        for (const Expression& each : made_) {
            if (each.type() == type && each.node().size < 50) possible.push_back(each);
        }
        return possible.empty() ? leaf(type) : possible[choose(static_cast<int>(possible.size()))];
    }

    Expression read(int depth, ValueType type) {
        const Table& table = kTables[choose(static_cast<int>(kTables.size()))];
        const bool boolean = table.type() == TableType::kBoolean;
        if (boolean != (type == ValueType::kBoolean)) return leaf(type);
        std::vector<Expression> indices;
        for (int i = 0; i < table.rank(); ++i) indices.push_back(any(depth - 1));
        return make_read(table, indices);
    }

    Expression boolean(int depth) {
        constexpr ValueType kBoolean = ValueType::kBoolean;
        if (depth == 0) return leaf(kBoolean);
        switch (choose(12)) {
            case 0:
                return leaf(kBoolean);
            case 1:
                return again(kBoolean);
            case 2:
                return read(depth, kBoolean);
            case 3:
                return make(choose(2) == 0 ? Op::kNot : Op::kLogicalNot, {grow(kBoolean, depth - 1)});
            case 4:
            case 5: {
                constexpr Op kOps[] = {Op::kAnd, Op::kOr, Op::kLogicalAnd, Op::kLogicalOr, Op::kLogicalXor};
                return make(kOps[choose(5)], {grow(kBoolean, depth - 1), grow(kBoolean, depth - 1)});
            }
            case 6: {
                const Expression x = any(depth - 1), y = any(depth - 1), z = any(depth - 1);
                return make(Op::kAnd, {compare(x, y), compare(y, z)});
            }
            case 7:
                return choice(kBoolean, depth);
            case 8:
                return make(choose(2) == 0 ? Op::kMinimum : Op::kMaximum,
                            {grow(kBoolean, depth - 1), grow(kBoolean, depth - 1)});
            default:
                return compare(any(depth - 1), any(depth - 1));
        }
    }

    Expression compare(const Expression& x, const Expression& y) {
        constexpr Op kOps[] = {Op::kLess, Op::kLessEqual, Op::kGreater, Op::kGreaterEqual, Op::kEqual, Op::kNotEqual};
        return make(kOps[choose(6)], {x, y});
    }

    Expression choice(ValueType type, int depth) {
        return make(choose(2) == 0 ? Op::kChoice : Op::kWhere,
                    {grow(ValueType::kBoolean, depth - 1), grow(type, depth - 1), grow(type, depth - 1)});
    }

    Expression integer(int depth) {
        constexpr ValueType kInteger = ValueType::kInteger;
        if (depth == 0) return leaf(kInteger);
        switch (choose(9)) {
            case 0:
                return leaf(kInteger);
            case 1:
                return again(kInteger);
            case 2:
                return read(depth, kInteger);
            case 3: {
                constexpr Op kOps[] = {Op::kNegate, Op::kAbs};
                return make(kOps[choose(2)], {any(depth - 1)});
            }
            case 4:
                return make(Op::kInvert, {grow(kInteger, depth - 1)});
            case 5:
                return choice(kInteger, depth);
            case 6: {
                std::vector<Expression> operands{grow(kInteger, depth - 1), any(depth - 1), any(depth - 1)};
                const Op op = choose(3) == 0 ? Op::kClamp : choose(2) == 0 ? Op::kMinimum : Op::kMaximum;
                if (op != Op::kClamp && choose(2) == 0) operands.pop_back();
                return make(op, operands);
            }
            case 7: {
                // One integer at least: on booleans alone these are the logical operations.
                constexpr Op kOps[] = {Op::kBitAnd, Op::kBitOr, Op::kBitXor};
                const Expression x = grow(kInteger, depth - 1), y = any(depth - 1);
                return choose(2) == 0 ? make(kOps[choose(3)], {x, y}) : make(kOps[choose(3)], {y, x});
            }
            default: {
                constexpr Op kOps[] = {Op::kAdd,         Op::kSubtract,  Op::kMultiply,  Op::kFloorDivide,
                                       Op::kFloorModulo, Op::kShiftLeft, Op::kShiftRight};
                return make(kOps[choose(7)], {any(depth - 1), any(depth - 1)});
            }
        }
    }

    std::vector<uint8_t> choices_;
    size_t next_ = 0;
    std::vector<Expression> made_;
};

// Of full size from the first of the cases on: trees are cheap, and small ones come by themselves.
Predicate any_predicate() {
    const auto choices = rc::gen::container<std::vector<uint8_t>>(200, rc::gen::arbitrary<uint8_t>());
    return Grower(*rc::gen::resize(rc::kNominalSize, choices)).grow(ValueType::kBoolean, 7);
}

RC_GTEST_PROP(TextProperty, WhatIsPrintedParsesBackToTheSameTree, ()) {
    const Predicate keep = any_predicate();
    const std::string text = to_text(keep);
    const ParsedPredicate again = parse_predicate(text, bindings_of(keep));
    RC_LOG() << text;
    RC_ASSERT(again.predicate.same_as(keep));
    RC_ASSERT(again.warnings.empty());
    RC_ASSERT(to_text(again.predicate) == text);
}

RC_GTEST_PROP(TextProperty, JsonComesBackAsTheSameText, ()) {
    const MaskSpecification mask{"m", any_predicate(), {.q_len = 6, .kv_len = 6}, {}};
    const std::string json = to_json(mask);
    RC_LOG() << json;
    const std::vector<MaskSpecification> again = parse_specifications(json);
    RC_ASSERT(again.size() == 1u);
    RC_ASSERT(to_text(again[0].predicate) == to_text(mask.predicate));
    RC_ASSERT(to_json(again[0]) == json);
}

// The text in brackets between others is one operand, whatever its operators.
RC_GTEST_PROP(TextProperty, BracketsMakeOneOperand, ()) {
    const Predicate keep = any_predicate();
    const Predicate again = parse_predicate("not (" + to_text(keep) + ") and True", bindings_of(keep)).predicate;
    RC_ASSERT(again.same_as(!keep && Predicate(true)));
}

}  // namespace
}  // namespace jali

// The definition of a predicate's value: a walk of the tree, one pair at a time.
#include <fmt/format.h>

#include "jali/error.h"
#include "jali/predicate.h"
#include "jali/predicate_text.h"
#include "mask/arithmetic.h"
#include "mask/table_storage.h"

namespace jali {

namespace {

struct Point {
    Domain domain;
    int64_t b, h, q, kv;
};

[[noreturn]] void fail(const Node& node, const Point& at, const std::string& what) {
    const std::string text = to_text(Expression(std::make_shared<const Node>(node)));
    throw EvaluationError(
        fmt::format("{} in {} at b = {}, h = {}, q = {}, kv = {}", what, text, at.b, at.h, at.q, at.kv), at.b, at.h,
        at.q, at.kv);
}

std::string describe(Failure failure, const Node& node, int64_t x, int64_t y) {
    switch (failure) {
        case Failure::kDivisionByZero:
            return fmt::format("division of {} by zero", x);
        case Failure::kNegativeShift:
            return fmt::format("shift of {} by the negative count {}", x, y);
        default:
            return node.children.size() == 1 ? fmt::format("the value for {} does not fit in 64 bits", x)
                                             : fmt::format("the value for {} and {} does not fit in 64 bits", x, y);
    }
}

int64_t value_of(const Node& node, const Point& at);

int64_t read(const Node& node, const Point& at) {
    const Table::Storage& table = node.table->storage();
    int64_t position = 0;
    for (size_t i = 0; i < node.children.size(); ++i) {
        const int64_t index = value_of(*node.children[i], at);
        if (index < 0 || index >= table.shape[i]) {
            fail(node, at,
                 table.shape.size() == 1 ? fmt::format("table {} has {} entries but is read at {}", node.table->name(),
                                                       table.shape[i], index)
                                         : fmt::format("table {} has {} entries along dimension {} but is read at {}",
                                                       node.table->name(), table.shape[i], i, index));
        }
        position += index * table.strides[i];
    }
    return table.value(position);
}

int64_t apply_or_fail(const Node& node, const Point& at, Op op, int64_t x, int64_t y) {
    int64_t result = 0;
    const Failure failure = apply(op, x, y, result);
    if (failure != Failure::kNone) fail(node, at, describe(failure, node, x, y));
    return result;
}

int64_t value_of(const Node& node, const Point& at) {
    const auto child = [&](size_t i) { return value_of(*node.children[i], at); };
    switch (node.op) {
        case Op::kConstant:
        case Op::kScalar:
            return node.value;
        case Op::kIndexB:
            return at.b;
        case Op::kIndexH:
            return at.h;
        case Op::kIndexQ:
            return at.q;
        case Op::kIndexKv:
            return at.kv;
        case Op::kQLen:
            return at.domain.q_len;
        case Op::kKvLen:
            return at.domain.kv_len;
        case Op::kRead:
            return read(node, at);
        case Op::kAnd:
            return child(0) != 0 ? child(1) : 0;
        case Op::kOr:
            return child(0) != 0 ? 1 : child(1);
        case Op::kChoice:
            return child(0) != 0 ? child(1) : child(2);
        case Op::kWhere: {
            const int64_t condition = child(0), x = child(1), y = child(2);
            return condition != 0 ? x : y;
        }
        case Op::kMinimum:
        case Op::kMaximum: {
            int64_t result = child(0);
            for (size_t i = 1; i < node.children.size(); ++i)
                result = apply_or_fail(node, at, node.op, result, child(i));
            return result;
        }
        case Op::kClamp: {
            const int64_t x = child(0), lo = child(1), hi = child(2);
            return std::min(std::max(x, lo), hi);
        }
        default: {
            const int64_t x = child(0);
            return apply_or_fail(node, at, node.op, x, node.children.size() > 1 ? child(1) : 0);
        }
    }
}

}  // namespace

bool evaluate(const Predicate& keep, const Domain& domain, int64_t b, int64_t h, int64_t q, int64_t kv) {
    return value_of(keep.expression().node(), Point{domain, b, h, q, kv}) != 0;
}

}  // namespace jali

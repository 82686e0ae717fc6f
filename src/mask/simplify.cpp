// Exact simplification: the same value and the same errors at every pair.
#include <optional>

#include "jali/predicate.h"
#include "mask/arithmetic.h"

namespace jali {

namespace {

std::optional<int64_t> constant_of(const Expression& x) {
    const Node& node = x.node();
    if (node.op == Op::kConstant || node.op == Op::kScalar) return node.value;
    return std::nullopt;
}

Expression constant(ValueType type, int64_t value) {
    return type == ValueType::kBoolean ? Expression(value != 0) : Expression(value);
}

// Folds where every operand is a constant and the value exists. An operation that would fail stays, error and all.
std::optional<Expression> folded(const Node& node, const std::vector<Expression>& operands) {
    std::vector<int64_t> values;
    for (const Expression& operand : operands) {
        const auto value = constant_of(operand);
        if (!value) return std::nullopt;
        values.push_back(*value);
    }
    switch (node.op) {
        case Op::kClamp:
            return constant(node.type, std::min(std::max(values[0], values[1]), values[2]));
        case Op::kWhere:
        case Op::kRead:
        case Op::kChoice:
        case Op::kAnd:
        case Op::kOr:
            return std::nullopt;
        default: {
            int64_t result = values[0];
            if (values.size() == 1) {
                if (apply(node.op, values[0], 0, result) != Failure::kNone) return std::nullopt;
            }
            for (size_t i = 1; i < values.size(); ++i) {
                if (apply(node.op, result, values[i], result) != Failure::kNone) return std::nullopt;
            }
            return constant(node.type, result);
        }
    }
}

// True and False as operands of and, or, &, |, and constant conditions. An operand is dropped only where it would not
// have been evaluated, or is itself a constant.
std::optional<Expression> shortened(const Node& node, const std::vector<Expression>& x) {
    const auto value = [&](size_t i) { return constant_of(x[i]); };
    switch (node.op) {
        case Op::kAnd:
            if (const auto left = value(0)) return *left != 0 ? x[1] : Expression(false);
            if (const auto right = value(1); right && *right != 0) return x[0];
            return std::nullopt;
        case Op::kOr:
            if (const auto left = value(0)) return *left != 0 ? Expression(true) : x[1];
            if (const auto right = value(1); right && *right == 0) return x[0];
            return std::nullopt;
        case Op::kLogicalAnd:
            if (const auto left = value(0); left && *left != 0) return x[1];
            if (const auto right = value(1); right && *right != 0) return x[0];
            return std::nullopt;
        case Op::kLogicalOr:
            if (const auto left = value(0); left && *left == 0) return x[1];
            if (const auto right = value(1); right && *right == 0) return x[0];
            return std::nullopt;
        case Op::kChoice:
            if (const auto condition = value(0); condition && x[1].type() == x[2].type()) {
                return *condition != 0 ? x[1] : x[2];
            }
            return std::nullopt;
        case Op::kNot:
        case Op::kLogicalNot:
            if (x[0].node().op == Op::kNot || x[0].node().op == Op::kLogicalNot) {
                return Expression(x[0].node().children[0]);
            }
            return std::nullopt;
        default:
            return std::nullopt;
    }
}

Expression simplified(const Expression& expression) {
    const Node& node = expression.node();
    if (node.op == Op::kScalar) return constant(node.type, node.value);
    if (node.children.empty()) return expression;
    std::vector<Expression> operands;
    bool changed = false;
    for (const NodePointer& child : node.children) {
        operands.push_back(simplified(Expression(child)));
        changed = changed || operands.back().pointer() != child;
    }
    if (const auto constant_value = folded(node, operands)) return *constant_value;
    if (const auto shorter = shortened(node, operands)) return *shorter;
    if (!changed) return expression;
    return node.op == Op::kRead ? make_read(*node.table, operands) : make(node.op, std::move(operands));
}

bool uses(const Node& node, Op index) {
    if (node.op == index) return true;
    for (const NodePointer& child : node.children) {
        if (uses(*child, index)) return true;
    }
    return false;
}

}  // namespace

Predicate simplify(const Predicate& keep) {
    return simplified(keep.expression());
}

bool Predicate::uses_b() const {
    return uses(simplify(*this).expression().node(), Op::kIndexB);
}
bool Predicate::uses_h() const {
    return uses(simplify(*this).expression().node(), Op::kIndexH);
}

}  // namespace jali

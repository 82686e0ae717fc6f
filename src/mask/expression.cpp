#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "jali/error.h"
#include "jali/predicate.h"
#include "mask/node.h"

namespace jali {

namespace {

Expression leaf(Op op) {
    return Expression(std::make_shared<const Node>(Node{.op = op, .type = ValueType::kInteger}));
}

// How many operands an operation takes, and which types they must have.
enum class OperandRule : uint8_t { kAny, kBooleans, kConditionFirst };

struct Signature {
    size_t least, most;
    OperandRule rule;
};

Signature signature_of(Op op) {
    switch (op) {
        case Op::kNegate:
        case Op::kInvert:
        case Op::kAbs:
            return {1, 1, OperandRule::kAny};
        case Op::kNot:
        case Op::kLogicalNot:
            return {1, 1, OperandRule::kBooleans};
        case Op::kAnd:
        case Op::kOr:
        case Op::kLogicalAnd:
        case Op::kLogicalOr:
        case Op::kLogicalXor:
            return {2, 2, OperandRule::kBooleans};
        case Op::kChoice:
        case Op::kWhere:
            return {3, 3, OperandRule::kConditionFirst};
        case Op::kMinimum:
        case Op::kMaximum:
            return {2, std::numeric_limits<size_t>::max(), OperandRule::kAny};
        case Op::kClamp:
            return {3, 3, OperandRule::kAny};
        default:
            return {2, 2, OperandRule::kAny};
    }
}

bool is_comparison(Op op) {
    return op >= Op::kLess && op <= Op::kNotEqual;
}

bool all_boolean(const std::vector<Expression>& operands, size_t from) {
    for (size_t i = from; i < operands.size(); ++i) {
        if (operands[i].type() != ValueType::kBoolean) return false;
    }
    return true;
}

ValueType type_of_result(Op op, const std::vector<Expression>& operands) {
    if (is_comparison(op)) return ValueType::kBoolean;
    switch (op) {
        case Op::kAnd:
        case Op::kOr:
        case Op::kNot:
        case Op::kLogicalAnd:
        case Op::kLogicalOr:
        case Op::kLogicalXor:
        case Op::kLogicalNot:
            return ValueType::kBoolean;
        case Op::kMinimum:
        case Op::kMaximum:
        case Op::kClamp:
            return all_boolean(operands, 0) ? ValueType::kBoolean : ValueType::kInteger;
        case Op::kChoice:
        case Op::kWhere:
            return all_boolean(operands, 1) ? ValueType::kBoolean : ValueType::kInteger;
        default:
            return ValueType::kInteger;
    }
}

void check_operands(Op op, const std::vector<Expression>& operands) {
    const Signature signature = signature_of(op);
    if (operands.size() < signature.least || operands.size() > signature.most) {
        throw Error(fmt::format("{} takes {} operands but has {}", name_of(op), signature.least, operands.size()));
    }
    const size_t conditions = signature.rule == OperandRule::kBooleans         ? operands.size()
                              : signature.rule == OperandRule::kConditionFirst ? 1
                                                                               : 0;
    for (size_t i = 0; i < conditions; ++i) {
        if (operands[i].type() != ValueType::kBoolean) {
            throw Error(
                fmt::format("{} needs a boolean but operand {} is an integer: compare it, for example with != 0",
                            name_of(op), i + 1));
        }
    }
}

// & | ^ ~ mean the logical operation exactly where every operand is a boolean, as in PyTorch.
Op logical_form(Op op, const std::vector<Expression>& operands) {
    if (!all_boolean(operands, 0)) return op;
    switch (op) {
        case Op::kBitAnd:
            return Op::kLogicalAnd;
        case Op::kBitOr:
            return Op::kLogicalOr;
        case Op::kBitXor:
            return Op::kLogicalXor;
        case Op::kInvert:
            return Op::kLogicalNot;
        default:
            return op;
    }
}

// Gives a node its children, and measures the tree that it is now the root of.
void adopt(Node& node, const std::vector<Expression>& operands) {
    node.children.reserve(operands.size());
    for (const Expression& operand : operands) {
        node.children.push_back(operand.pointer());
        node.depth = std::max(node.depth, operand.node().depth + 1);
        node.size = std::min(node.size + operand.node().size, kMaximumNodes + 1);
    }
    if (node.depth > kMaximumDepth) {
        throw Error(fmt::format("the predicate is nested more than {} levels deep", kMaximumDepth));
    }
    if (node.size > kMaximumNodes) throw Error(fmt::format("the predicate has more than {} nodes", kMaximumNodes));
}

bool same_table(const std::shared_ptr<const Table>& x, const std::shared_ptr<const Table>& y) {
    if (!x || !y) return x == y;
    return x->name() == y->name() && x->same_values(*y);
}

bool same_tree(const Node& x, const Node& y) {
    if (&x == &y) return true;
    if (x.op != y.op || x.type != y.type || x.value != y.value || x.name != y.name ||
        x.children.size() != y.children.size() || !same_table(x.table, y.table)) {
        return false;
    }
    for (size_t i = 0; i < x.children.size(); ++i) {
        if (!same_tree(*x.children[i], *y.children[i])) return false;
    }
    return true;
}

}  // namespace

namespace indices {
const Expression b = leaf(Op::kIndexB);
const Expression h = leaf(Op::kIndexH);
const Expression q = leaf(Op::kIndexQ);
const Expression kv = leaf(Op::kIndexKv);
const Expression q_len = leaf(Op::kQLen);
const Expression kv_len = leaf(Op::kKvLen);
}  // namespace indices

void Expression::require_fits(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        throw Error(fmt::format("the constant {} does not fit in 64 signed bits", value));
    }
}

Expression Expression::constant_boolean(bool value) {
    return Expression(
        std::make_shared<const Node>(Node{.op = Op::kConstant, .type = ValueType::kBoolean, .value = value ? 1 : 0}));
}

Expression Expression::constant_integer(int64_t value) {
    return Expression(
        std::make_shared<const Node>(Node{.op = Op::kConstant, .type = ValueType::kInteger, .value = value}));
}

bool Expression::same_as(const Expression& other) const {
    return same_tree(node(), other.node());
}

Expression scalar(std::string name, int64_t value) {
    return Expression(std::make_shared<const Node>(
        Node{.op = Op::kScalar, .type = ValueType::kInteger, .value = value, .name = std::move(name)}));
}

Expression make(Op op, std::vector<Expression> operands) {
    op = logical_form(op, operands);
    check_operands(op, operands);
    Node node{.op = op, .type = type_of_result(op, operands)};
    adopt(node, operands);
    return Expression(std::make_shared<const Node>(std::move(node)));
}

Expression make_read(const Table& table, const std::vector<Expression>& indices) {
    if (static_cast<int>(indices.size()) != table.rank()) {
        throw Error(fmt::format("table {} has rank {} but is read with {} {}", table.name(), table.rank(),
                                indices.size(), indices.size() == 1 ? "index" : "indices"));
    }
    Node node{.op = Op::kRead, .type = table.type() == TableType::kBoolean ? ValueType::kBoolean : ValueType::kInteger};
    node.table = std::make_shared<const Table>(table);
    adopt(node, indices);
    return Expression(std::make_shared<const Node>(std::move(node)));
}

Expression operator+(const Expression& x, const Expression& y) {
    return make(Op::kAdd, {x, y});
}
Expression operator-(const Expression& x, const Expression& y) {
    return make(Op::kSubtract, {x, y});
}
Expression operator*(const Expression& x, const Expression& y) {
    return make(Op::kMultiply, {x, y});
}
Expression operator<<(const Expression& x, const Expression& count) {
    return make(Op::kShiftLeft, {x, count});
}
Expression operator>>(const Expression& x, const Expression& count) {
    return make(Op::kShiftRight, {x, count});
}
Expression operator&(const Expression& x, const Expression& y) {
    return make(Op::kBitAnd, {x, y});
}
Expression operator|(const Expression& x, const Expression& y) {
    return make(Op::kBitOr, {x, y});
}
Expression operator^(const Expression& x, const Expression& y) {
    return make(Op::kBitXor, {x, y});
}
Expression operator~(const Expression& x) {
    return make(Op::kInvert, {x});
}
Expression operator-(const Expression& x) {
    return make(Op::kNegate, {x});
}
Expression operator<(const Expression& x, const Expression& y) {
    return make(Op::kLess, {x, y});
}
Expression operator<=(const Expression& x, const Expression& y) {
    return make(Op::kLessEqual, {x, y});
}
Expression operator>(const Expression& x, const Expression& y) {
    return make(Op::kGreater, {x, y});
}
Expression operator>=(const Expression& x, const Expression& y) {
    return make(Op::kGreaterEqual, {x, y});
}
Expression operator==(const Expression& x, const Expression& y) {
    return make(Op::kEqual, {x, y});
}
Expression operator!=(const Expression& x, const Expression& y) {
    return make(Op::kNotEqual, {x, y});
}
Expression operator&&(const Expression& x, const Expression& y) {
    return make(Op::kAnd, {x, y});
}
Expression operator||(const Expression& x, const Expression& y) {
    return make(Op::kOr, {x, y});
}
Expression operator!(const Expression& x) {
    return make(Op::kNot, {x});
}
Expression floor_div(const Expression& x, const Expression& y) {
    return make(Op::kFloorDivide, {x, y});
}
Expression floor_mod(const Expression& x, const Expression& y) {
    return make(Op::kFloorModulo, {x, y});
}
Expression abs(const Expression& x) {
    return make(Op::kAbs, {x});
}
Expression minimum(const Expression& x, const Expression& y) {
    return make(Op::kMinimum, {x, y});
}
Expression maximum(const Expression& x, const Expression& y) {
    return make(Op::kMaximum, {x, y});
}
Expression clamp(const Expression& x, const Expression& lo, const Expression& hi) {
    return make(Op::kClamp, {x, lo, hi});
}
Expression select(const Expression& c, const Expression& x, const Expression& y) {
    return make(Op::kChoice, {c, x, y});
}
Expression where(const Expression& c, const Expression& x, const Expression& y) {
    return make(Op::kWhere, {c, x, y});
}

Expression Table::read(const std::vector<Expression>& indices) const {
    return make_read(*this, indices);
}
Expression Table::operator[](const Expression& index) const {
    return make_read(*this, {index});
}

Predicate::Predicate(Expression expression) : expression_(std::move(expression)) {
    if (expression_.type() != ValueType::kBoolean) {
        throw Error("the predicate is an integer and must be a boolean: compare it, for example with != 0");
    }
}

Predicate operator&&(const Predicate& x, const Predicate& y) {
    return x.expression() && y.expression();
}
Predicate operator||(const Predicate& x, const Predicate& y) {
    return x.expression() || y.expression();
}
Predicate operator!(const Predicate& x) {
    return !x.expression();
}

}  // namespace jali

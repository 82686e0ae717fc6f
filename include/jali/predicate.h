// The predicate language: integer expressions over b, h, q, kv, constants and tables, whose value says whether query q
// may see key kv. Three forms reach the same tree: C++ operators (here), text and JSON (predicate_text.h).
//
//     using namespace jali::indices;
//     jali::Table doc = jali::Table::documents("doc", lengths);
//     jali::Predicate keep = doc[q] == doc[kv] && q >= kv;
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "jali/table.h"

namespace jali {

// What a node of the tree does. Operators on integers follow Python: // and % floor; values are 64-bit.
enum class Op : uint8_t {
    kConstant,  // value
    kScalar,    // a named constant: name, value
    kIndexB,
    kIndexH,
    kIndexQ,
    kIndexKv,
    kQLen,
    kKvLen,
    kRead,  // table[children...]
    kNegate,
    kInvert,
    kAbs,
    kAdd,
    kSubtract,
    kMultiply,
    kFloorDivide,
    kFloorModulo,
    kShiftLeft,
    kShiftRight,
    kBitAnd,
    kBitOr,
    kBitXor,  // integers; also booleans mixed with integers, taken as 0 and 1
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
    kLogicalAnd,
    kLogicalOr,
    kLogicalXor,
    kLogicalNot,  // & | ^ ~ on booleans: both sides are evaluated
    kAnd,
    kOr,
    kNot,     // and, or, not: short-circuit
    kChoice,  // children {c, x, y}: x if c else y, only one side evaluated
    kWhere,   // children {c, x, y}: both sides evaluated
    kMinimum,
    kMaximum,  // two or more children
    kClamp,    // children {x, lo, hi}: min(max(x, lo), hi)
};

enum class ValueType : uint8_t { kBoolean, kInteger };

struct Node;
using NodePointer = std::shared_ptr<const Node>;

// One node of an immutable expression tree. Subtrees may be shared.
struct Node {
    Op op;
    ValueType type;
    int64_t value = 0;                     // kConstant, kScalar
    std::string name{};                    // kScalar
    std::shared_ptr<const Table> table{};  // kRead
    std::vector<NodePointer> children{};
    int32_t depth = 1;  // levels of this tree; limited, so that trees can be walked recursively
    int64_t size = 1;   // nodes of this tree, shared ones counted at each use; limited as well
};

// A value over (b, h, q, kv): an integer or a boolean. Cheap to copy.
class Expression {
   public:
    template <std::integral T>
    Expression(T value)  // NOLINT(google-explicit-constructor): so that 0 <= q works
        : Expression(std::same_as<T, bool> ? constant_boolean(value != T{0}) : constant_integer(checked(value))) {}
    template <std::floating_point T>
    Expression(T) = delete;  // predicates are integer; there is no floating point
    explicit Expression(NodePointer node) : node_(std::move(node)) {}

    ValueType type() const { return node_->type; }
    const Node& node() const { return *node_; }
    const NodePointer& pointer() const { return node_; }

    // The same tree with the same names, constants and table values.
    bool same_as(const Expression& other) const;

   private:
    template <std::integral T>
    static int64_t checked(T value) {
        if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(int64_t)) require_fits(value);
        return static_cast<int64_t>(value);
    }
    static void require_fits(uint64_t value);
    static Expression constant_boolean(bool value);
    static Expression constant_integer(int64_t value);

    NodePointer node_;
};

// The four indices and the two lengths. They are made when the program starts: use them in functions, not in static
// initialisers of other files.
namespace indices {
extern const Expression b, h, q, kv, q_len, kv_len;
}

// A named constant: prints as its name.
Expression scalar(std::string name, int64_t value);

Expression operator+(const Expression& x, const Expression& y);
Expression operator-(const Expression& x, const Expression& y);
Expression operator*(const Expression& x, const Expression& y);
Expression operator<<(const Expression& x, const Expression& count);
Expression operator>>(const Expression& x, const Expression& count);
Expression operator&(const Expression& x, const Expression& y);
Expression operator|(const Expression& x, const Expression& y);
Expression operator^(const Expression& x, const Expression& y);
Expression operator~(const Expression& x);
Expression operator-(const Expression& x);
Expression operator<(const Expression& x, const Expression& y);
Expression operator<=(const Expression& x, const Expression& y);
Expression operator>(const Expression& x, const Expression& y);
Expression operator>=(const Expression& x, const Expression& y);
Expression operator==(const Expression& x, const Expression& y);
Expression operator!=(const Expression& x, const Expression& y);
Expression operator&&(const Expression& x, const Expression& y);  // evaluates y only where x is true
Expression operator||(const Expression& x, const Expression& y);  // evaluates y only where x is false
Expression operator!(const Expression& x);
Expression floor_div(const Expression& x, const Expression& y);
Expression floor_mod(const Expression& x, const Expression& y);
// C++ truncates towards zero and the predicate language floors: write floor_div(x, y) or floor_mod(x, y).
Expression operator/(const Expression& x, const Expression& y) = delete;
Expression operator%(const Expression& x, const Expression& y) = delete;
Expression abs(const Expression& x);
Expression minimum(const Expression& x, const Expression& y);
Expression maximum(const Expression& x, const Expression& y);
Expression clamp(const Expression& x, const Expression& lo, const Expression& hi);
// x where c holds, else y; only the chosen side is evaluated.
Expression select(const Expression& c, const Expression& x, const Expression& y);
// The same with both sides evaluated.
Expression where(const Expression& c, const Expression& x, const Expression& y);

// Makes any node with its operands checked: the one place where the rules of types and counts stand.
Expression make(Op op, std::vector<Expression> operands);
Expression make_read(const Table& table, const std::vector<Expression>& indices);

template <class... Indices>
Expression Table::operator()(const Indices&... indices) const {
    return read({Expression(indices)...});
}

// A boolean expression: keep(b, h, q, kv).
class Predicate {
   public:
    // Throws Error where `expression` is an integer ("the predicate is an integer; compare it, for example != 0").
    Predicate(Expression expression);                        // NOLINT(google-explicit-constructor)
    Predicate(bool value) : Predicate(Expression(value)) {}  // NOLINT(google-explicit-constructor)

    const Expression& expression() const { return expression_; }
    bool same_as(const Predicate& other) const { return expression_.same_as(other.expression_); }

    // Whether the value can depend on b or on h (after simplification).
    bool uses_b() const;
    bool uses_h() const;

   private:
    Expression expression_;
};

Predicate operator&&(const Predicate& x, const Predicate& y);
Predicate operator||(const Predicate& x, const Predicate& y);
Predicate operator!(const Predicate& x);

// The lengths and counts that a predicate is evaluated over: b in [0, batch), h in [0, heads), and so on.
struct Domain {
    int64_t batch = 1;
    int64_t heads = 1;
    int64_t q_len = 0;
    int64_t kv_len = 0;
};

// keep(b, h, q, kv), by walking the tree: the definition that every other evaluation is held to.
// Throws EvaluationError naming the sub-expression, the four indices and the numbers.
bool evaluate(const Predicate& keep, const Domain& domain, int64_t b, int64_t h, int64_t q, int64_t kv);

// An equivalent predicate, errors included: constants folded, double negation removed.
Predicate simplify(const Predicate& keep);

}  // namespace jali

// Operator precedence with a stack of what still waits for an operand to its right. Nothing here recurses, so no text
// is too deep for the machine's stack: trees are bounded by make(), open brackets by the same number.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "jali/error.h"
#include "jali/predicate_text.h"
#include "mask/node.h"
#include "mask/text_names.h"
#include "mask/text_operand.h"
#include "mask/text_syntax.h"
#include "mask/text_token.h"

namespace jali {

namespace {

constexpr size_t kMostWarnings = 10;
constexpr size_t kMostNamesListed = 12;

void require_usable(std::string_view name, std::string_view kind) {
    if (is_reserved(name)) {
        throw Error(fmt::format("the {} '{}' has a name of the language: choose another", kind, name));
    }
    if (!is_identifier(name)) {
        throw Error(fmt::format("the {} '{}' needs a name of ASCII letters, digits and '_' that begins with no digit",
                                kind, shortened(name)));
    }
}

using TableBinding = std::pair<const std::string, Table>;

// Something that was read and is not complete.
struct Pending {
    enum class Kind : uint8_t {
        kOperator,    // x +
        kComparison,  // x < y <=
        kSign,        // -
        kNot,         // not
        kIf,          // x if
        kElse,        // x if c else
        kBracket,     // (, or f(x, or t[i,
    };
    Kind kind;
    Token word{};                      // the operator, sign or opening bracket
    Level level = Level::kChoice;      // an operator of this level or a looser one completes it
    std::vector<Operand> operands{};   // what stands to the left, or the list in the bracket so far
    std::vector<Token> comparisons{};  // of a kComparison, between its operands
    Token name{};                      // of a kBracket that belongs to a function or a table
    const Function* function = nullptr;
    const TableBinding* table = nullptr;

    bool is_list() const { return function != nullptr || table != nullptr; }
    std::string_view closing() const { return word.is("(") ? ")" : "]"; }
};
using Kind = Pending::Kind;

class Parser {
   public:
    Parser(std::string_view text, const Bindings& bindings)
        : text_(text), bindings_(bindings), token_(next_token(text, 0)) {}

    ParsedPredicate parse() {
        if (token_.kind == TokenKind::kEnd) {
            fail(token_.begin, "the text is empty: expected a predicate, for example 'q >= kv'");
        }
        std::optional<Operand> operand;  // none where a value must come
        while (!operand || token_.kind != TokenKind::kEnd) {
            operand = operand ? after_value(std::move(*operand)) : before_value();
        }
        const Operand all = complete(std::move(*operand), Level::kChoice);
        if (!pending_.empty()) unexpected(expected_after_value());
        require_boolean(text_, all, "the predicate");
        return {Predicate(all.expression), std::move(warnings_)};
    }

   private:
    // One step where a value must come: gives the value, or nothing after a sign, `not` or a bracket that opens.
    std::optional<Operand> before_value() {
        if (token_.kind == TokenKind::kInteger) return number();
        if (token_.is("-") || token_.is("+") || token_.is("~")) {
            pending_.push_back({.kind = Kind::kSign, .word = take(), .level = Level::kUnary});
            return std::nullopt;
        }
        if (token_.is("not")) return negation();
        if (token_.is("(")) return open({.kind = Kind::kBracket});
        if (list_may_close()) return close();
        if (token_.kind == TokenKind::kName) return named();
        unexpected(expected_value());
    }

    // One step where a value stands: gives what it becomes with a bracket that closes, or nothing after an operator.
    std::optional<Operand> after_value(Operand operand) {
        refuse_suffix(operand);
        if (const BinaryOperator* found = operator_here()) return operation(std::move(operand), *found);
        if (token_.is("if")) return condition(std::move(operand));
        if (token_.is("else")) return alternative(std::move(operand));
        operand = complete(std::move(operand), Level::kChoice);
        const bool in_bracket = top_is(Kind::kBracket);
        if (in_bracket && token_.is(",") && pending_.back().is_list()) {
            pending_.back().operands.push_back(std::move(operand));
            take();
            return std::nullopt;
        }
        if (in_bracket && token_.is(pending_.back().closing())) {
            pending_.back().operands.push_back(std::move(operand));
            return close();
        }
        if (pending_.empty() && (token_.is(")") || token_.is("]"))) {
            fail(token_.begin, fmt::format("'{}' closes no bracket", token_.text));
        }
        unexpected(expected_after_value());
    }

    // A minus right before a number belongs to the number.
    Operand number() {
        const bool negative = top_is(Kind::kSign) && pending_.back().word.is("-");
        if (!negative && token_.value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
            fail(token_.begin, fmt::format("the integer {} does not fit in 64 signed bits", shortened(token_.text)));
        }
        const Token number = take();
        if (!negative) {
            return {Expression(static_cast<int64_t>(number.value)), number.begin, number.end(), Level::kPrimary};
        }
        const size_t begin = pop().word.begin;
        return {Expression(static_cast<int64_t>(uint64_t{0} - number.value)), begin, number.end(), Level::kUnary};
    }

    std::optional<Operand> negation() {
        if (!pending_.empty() && pending_.back().level > Level::kNot) {
            fail(token_.begin, fmt::format("'not' binds looser than the '{}' before it: write '(not ...)'", previous_));
        }
        pending_.push_back({.kind = Kind::kNot, .word = take(), .level = Level::kNot});
        return std::nullopt;
    }

    std::optional<Operand> named() {
        const Token name = token_;
        const std::string key(name.text);
        const auto as_value = [&](const Expression& expression) {
            take();
            return Operand{expression, name.begin, name.end(), Level::kPrimary};
        };
        refuse_keyword();
        if (const std::optional<Expression> value = value_named(key)) return as_value(*value);
        if (const Function* function = function_named(key)) {
            take();
            if (token_.is("(")) return open({.kind = Kind::kBracket, .name = name, .function = function});
            fail(name.begin, fmt::format("'{}' is a function: write '{}(...)'", key, key));
        }
        if (const auto found = bindings_.scalars.find(key); found != bindings_.scalars.end()) {
            return as_value(scalar(key, found->second));
        }
        if (const auto found = bindings_.tables.find(key); found != bindings_.tables.end()) {
            take();
            if (token_.is("[")) return open({.kind = Kind::kBracket, .name = name, .table = &*found});
            fail(name.begin, fmt::format("the table '{}' needs its index: write '{}[...]'", key, key));
        }
        if (is_reserved(key) || !advice_on(key).empty()) unexpected(expected_value());
        fail(name.begin, fmt::format("unknown name '{}': {}", shortened(key), known_names()));
    }

    std::optional<Operand> open(Pending bracket) {
        if (++brackets_ > kMaximumDepth) {
            fail(token_.begin, fmt::format("brackets are nested more than {} deep", kMaximumDepth));
        }
        bracket.word = take();
        pending_.push_back(std::move(bracket));
        return std::nullopt;
    }

    // Where no operand follows: after a comma, as Python allows, and in a call that has none.
    bool list_may_close() const {
        if (!top_is(Kind::kBracket) || !pending_.back().is_list() || !token_.is(pending_.back().closing()))
            return false;
        return previous_ == "," || previous_ == "(";
    }

    // At the closing bracket: gives the value of what it closes, or nothing where t[i] goes on with another index.
    std::optional<Operand> close() {
        Pending bracket = pop();
        const size_t end = take().end();
        --brackets_;
        if (bracket.table != nullptr && token_.is("[")) return open(std::move(bracket));
        std::vector<Expression> operands;
        for (const Operand& each : bracket.operands) operands.push_back(each.expression);
        if (!bracket.is_list()) return Operand{operands[0], bracket.word.begin, end, Level::kPrimary};
        return Operand{bracket.function != nullptr ? called(bracket, std::move(operands)) : read(bracket, operands),
                       bracket.name.begin, end, Level::kPrimary};
    }

    Expression called(const Pending& bracket, std::vector<Expression> operands) const {
        const Function& function = *bracket.function;
        if (operands.size() < function.least || operands.size() > function.most) {
            fail(bracket.name.begin, fmt::format("{} takes {}{} operand{} but has {}", function.name,
                                                 function.least == function.most ? "" : "at least ", function.least,
                                                 function.least == 1 ? "" : "s", operands.size()));
        }
        if (function.op == Op::kWhere) require_boolean(text_, bracket.operands[0], "the condition of where");
        return build(function.op, std::move(operands), bracket.name.begin);
    }

    static Expression read(const Pending& bracket, const std::vector<Expression>& indices) {
        const auto& [key, table] = *bracket.table;
        return build_read(stands_for(key, table.name()) ? table : table.renamed(key), indices, bracket.name.begin);
    }

    std::optional<Operand> operation(Operand operand, const BinaryOperator& found) {
        if (found.level == Level::kComparison) return comparison(std::move(operand));
        operand = complete(std::move(operand), found.level);
        Pending pending{.kind = Kind::kOperator, .word = take(), .level = found.level};
        pending.operands.push_back(std::move(operand));
        pending_.push_back(std::move(pending));
        return std::nullopt;
    }

    std::optional<Operand> comparison(Operand operand) {
        operand = complete(std::move(operand), tighter(Level::kComparison));
        if (!top_is(Kind::kComparison)) pending_.push_back({.kind = Kind::kComparison, .level = Level::kComparison});
        pending_.back().operands.push_back(std::move(operand));
        pending_.back().comparisons.push_back(take());
        return std::nullopt;
    }

    std::optional<Operand> condition(Operand value) {
        value = complete(std::move(value), Level::kOr);
        if (top_is(Kind::kIf)) unexpected(expected_after_value());
        Pending pending{.kind = Kind::kIf, .word = take()};
        pending.operands.push_back(std::move(value));
        pending_.push_back(std::move(pending));
        return std::nullopt;
    }

    std::optional<Operand> alternative(Operand condition) {
        condition = complete(std::move(condition), Level::kOr);
        if (!top_is(Kind::kIf)) unexpected(expected_after_value());
        require_boolean(text_, condition, "'if'");
        pending_.back().kind = Kind::kElse;
        pending_.back().operands.push_back(std::move(condition));
        take();
        return std::nullopt;
    }

    // Applies what waits for the operand and binds it at `least` or tighter.
    Operand complete(Operand operand, Level least) {
        while (!pending_.empty() && pending_.back().level >= least && !top_is(Kind::kIf) && !top_is(Kind::kBracket)) {
            operand = applied(pop(), std::move(operand));
        }
        return operand;
    }

    Operand applied(Pending pending, Operand operand) {
        const size_t position = pending.word.begin;
        switch (pending.kind) {
            case Kind::kOperator:
                return joined(pending, operand);
            case Kind::kComparison:
                pending.operands.push_back(std::move(operand));
                return compared(pending);
            case Kind::kElse: {
                const Operand& value = pending.operands[0];
                const Operand& condition = pending.operands[1];
                return {build(Op::kChoice, {condition.expression, value.expression, operand.expression}, position),
                        value.begin, operand.end, Level::kChoice, position};
            }
            case Kind::kNot:
                require_boolean(text_, operand, "'not'");
                return {build(Op::kNot, {operand.expression}, position), position, operand.end, Level::kNot, position};
            default:
                return {with_sign(pending.word, operand.expression), position, operand.end, Level::kUnary, position};
        }
    }

    Operand joined(const Pending& pending, const Operand& right) const {
        const Operand& left = pending.operands[0];
        const BinaryOperator& found = *binary_operator(pending.word.text);
        if (found.level == Level::kAnd || found.level == Level::kOr) {
            const std::string user = fmt::format("'{}'", found.text);
            require_boolean(text_, left, user);
            require_boolean(text_, right, user);
        }
        const size_t position = pending.word.begin;
        return {build(found.op, {left.expression, right.expression}, position), left.begin, right.end, found.level,
                position};
    }

    // x < y <= z is (x < y) and (y <= z), with one tree of y.
    Operand compared(const Pending& pending) {
        const std::vector<Operand>& operands = pending.operands;
        std::optional<Expression> all;
        for (size_t i = 0; i < pending.comparisons.size(); ++i) {
            const Token& sign = pending.comparisons[i];
            const Expression next =
                build(binary_operator(sign.text)->op, {operands[i].expression, operands[i + 1].expression}, sign.begin);
            all = all ? build(Op::kAnd, {*all, next}, sign.begin) : next;
        }
        if (warnings_.size() < kMostWarnings) {
            if (auto warning = warning_of_bit_operator(text_, operands, pending.comparisons)) {
                warnings_.push_back(std::move(*warning));
            }
        }
        return {*all, operands.front().begin, operands.back().end, Level::kComparison, pending.comparisons[0].begin};
    }

    // + keeps an integer and makes one of a boolean.
    static Expression with_sign(const Token& sign, const Expression& operand) {
        if (sign.is("-")) return build(Op::kNegate, {operand}, sign.begin);
        if (sign.is("~")) return build(Op::kInvert, {operand}, sign.begin);
        return operand.type() == ValueType::kInteger ? operand : build(Op::kAdd, {0, operand}, sign.begin);
    }

    Token take() {
        Token taken = std::exchange(token_, next_token(text_, token_.end()));
        previous_ = taken.text;
        return taken;
    }

    Pending pop() {
        Pending last = std::move(pending_.back());
        pending_.pop_back();
        return last;
    }

    bool top_is(Kind kind) const { return !pending_.empty() && pending_.back().kind == kind; }

    const BinaryOperator* operator_here() const {
        const bool possible = token_.kind == TokenKind::kName || token_.kind == TokenKind::kSymbol;
        return possible ? binary_operator(token_.text) : nullptr;
    }

    [[noreturn]] void unexpected(const std::string& expected) const {
        if (token_.kind == TokenKind::kWrong) fail(token_.begin, token_.message);
        if (const std::string_view advice = advice_on(token_.text); !advice.empty()) {
            fail(token_.begin, fmt::format("'{}' is not in the language: {}", token_.text, advice));
        }
        const std::string found =
            token_.kind == TokenKind::kEnd ? "the text ends" : fmt::format("found '{}'", shortened(token_.text));
        fail(token_.begin, fmt::format("expected {} but {}", expected, found));
    }

    std::string expected_value() const {
        if (previous_.empty()) return "a value";
        return fmt::format("{} after '{}'", previous_ == "[" ? "an index" : "a value", previous_);
    }

    // After complete(), when only an `if` or an open bracket is left on top.
    std::string expected_after_value() const {
        if (pending_.empty()) return "an operator or the end of the text";
        const Pending& top = pending_.back();
        if (top.kind == Kind::kIf)
            return fmt::format("an operator or 'else' for the 'if' at column {}", top.word.begin + 1);
        return fmt::format("an operator{} '{}' for the '{}' at column {}", top.is_list() ? ", ',' or" : " or",
                           top.closing(), top.word.text, top.word.begin + 1);
    }

    std::string known_names() const {
        std::vector<std::string> names{"b", "h", "q", "kv", "q_len", "kv_len"};
        for (const auto& [name, value] : bindings_.scalars) names.push_back(name);
        for (const auto& [name, table] : bindings_.tables) names.push_back(name);
        const bool all = names.size() <= kMostNamesListed;
        if (!all) names.resize(kMostNamesListed);
        return fmt::format("the names here are {}{}", fmt::join(names, ", "), all ? "" : ", ...");
    }

    void refuse_keyword() const {
        if (!top_is(Kind::kBracket) || pending_.back().function == nullptr) return;
        if (next_token(text_, token_.end()).text != "=") return;
        fail(token_.begin, fmt::format("operands are given by position, without '{} ='", shortened(token_.text)));
    }

    void refuse_suffix(const Operand& operand) const {
        if (token_.is("[")) {
            fail(token_.begin, fmt::format("'{}' is no table and has no index", quote(text_, operand)));
        }
        if (token_.is("(")) {
            fail(token_.begin, fmt::format("'{}' is no function and cannot be called", quote(text_, operand)));
        }
    }

    std::string_view text_;
    const Bindings& bindings_;
    Token token_;
    std::string_view previous_;  // the text of the token before
    std::vector<Pending> pending_;
    int32_t brackets_ = 0;
    std::vector<std::string> warnings_;
};

}  // namespace

ParsedPredicate parse_predicate(std::string_view text, const Bindings& bindings) {
    for (const auto& [name, value] : bindings.scalars) {
        require_usable(name, "scalar");
        if (bindings.tables.contains(name)) {
            throw Error(fmt::format("the name '{}' stands for both a scalar and a table", name));
        }
    }
    for (const auto& [name, table] : bindings.tables) require_usable(name, "table");
    return Parser(text, bindings).parse();
}

}  // namespace jali

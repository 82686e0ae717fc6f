// Precedence climbing over the tokens. Only brackets recurse: signs, `not`, chains and the branches of `if else` are
// loops, so that the depth of the stack is the depth of the brackets.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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

// A word that the language does not have and that people bring along from Python, PyTorch, C++ or mathematics.
struct ForeignWord {
    std::string_view word, advice;
};
constexpr std::array kForeignWords = {
    ForeignWord{"is", "compare with '=='"},
    ForeignWord{"in", "compare with '==' and join with 'or'"},
    ForeignWord{"lambda", "write the expression by itself"},
    ForeignWord{"None", "a value is an integer, True or False"},
    ForeignWord{"for", "a predicate is one expression"},
    ForeignWord{"return", "a predicate is one expression"},
    ForeignWord{"true", "write 'True'"},
    ForeignWord{"false", "write 'False'"},
    ForeignWord{"AND", "write 'and'"},
    ForeignWord{"OR", "write 'or'"},
    ForeignWord{"NOT", "write 'not'"},
    ForeignWord{"xor", "write '^' or '!='"},
    ForeignWord{"mod", "write '%'"},
    ForeignWord{"div", "write '//'"},
    ForeignWord{"q_idx", "write 'q'"},
    ForeignWord{"kv_idx", "write 'kv'"},
    ForeignWord{"k", "write 'kv'"},
    ForeignWord{"minimum", "write 'min'"},
    ForeignWord{"maximum", "write 'max'"},
    ForeignWord{"select", "write 'x if c else y'"},
    ForeignWord{"then", "write 'x if c else y'"},
};

std::string_view advice_on(std::string_view word) {
    const auto found = std::find_if(kForeignWords.begin(), kForeignWords.end(),
                                    [&](const ForeignWord& each) { return each.word == word; });
    return found == kForeignWords.end() ? std::string_view() : found->advice;
}

void require_usable(std::string_view name, std::string_view kind) {
    if (is_reserved(name)) {
        throw Error(fmt::format("the {} '{}' has a name of the language: choose another", kind, name));
    }
    if (!is_identifier(name)) {
        throw Error(fmt::format("the {} '{}' needs a name of ASCII letters, digits and '_' that begins with no digit",
                                kind, shortened(name)));
    }
}

class Parser {
   public:
    Parser(std::string_view text, const Bindings& bindings)
        : text_(text), bindings_(bindings), token_(next_token(text, 0)) {}

    ParsedPredicate parse() {
        if (token_.kind == TokenKind::kEnd) {
            fail(token_.begin, "the text is empty: expected a predicate, for example 'q >= kv'");
        }
        const Operand all = choice();
        if (token_.is(")") || token_.is("]")) fail(token_.begin, fmt::format("'{}' closes no bracket", token_.text));
        if (token_.kind != TokenKind::kEnd) unexpected("an operator or the end of the text");
        require_boolean(text_, all, "the predicate");
        return {Predicate(all.expression), std::move(warnings_)};
    }

   private:
    Token take() {
        Token taken = std::exchange(token_, next_token(text_, token_.end()));
        previous_ = taken.text;
        return taken;
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

    const BinaryOperator* operator_here() const {
        const bool possible = token_.kind == TokenKind::kName || token_.kind == TokenKind::kSymbol;
        return possible ? binary_operator(token_.text) : nullptr;
    }

    // x if c else y, where y may be another one.
    Operand choice() {
        struct Branch {
            Operand value, condition;
        };
        std::vector<Branch> branches;
        Operand last = binary(Level::kOr);
        while (token_.is("if")) {
            const Token word = take();
            Operand condition = binary(Level::kOr);
            require_boolean(text_, condition, "'if'");
            if (!token_.is("else")) {
                unexpected(fmt::format("an operator or 'else' for the 'if' at column {}", word.begin + 1));
            }
            take();
            branches.push_back({std::exchange(last, binary(Level::kOr)), std::move(condition)});
        }
        for (; !branches.empty(); branches.pop_back()) {
            const auto& [value, condition] = branches.back();
            last.expression =
                build(Op::kChoice, {condition.expression, value.expression, last.expression}, value.begin);
            last.begin = value.begin;
            last.level = Level::kChoice;
        }
        return last;
    }

    // Operands joined by operators of `least` or tighter.
    Operand binary(Level least) {
        Operand left = least <= Level::kNot && token_.is("not") ? negations() : signed_value();
        for (const BinaryOperator* found = operator_here(); found != nullptr && found->level >= least;
             found = operator_here()) {
            if (found->level == Level::kComparison) {
                left = comparisons(left);
                continue;
            }
            const Token word = take();
            const Operand right = binary(tighter(found->level));
            if (found->level == Level::kAnd || found->level == Level::kOr) {
                const std::string user = fmt::format("'{}'", word.text);
                require_boolean(text_, left, user);
                require_boolean(text_, right, user);
            }
            left = {build(found->op, {left.expression, right.expression}, word.begin), left.begin, right.end,
                    found->level, word.begin};
        }
        return left;
    }

    Operand negations() {
        std::vector<Token> words;
        while (token_.is("not")) words.push_back(take());
        Operand operand = binary(Level::kComparison);
        require_boolean(text_, operand, "'not'");
        for (; !words.empty(); words.pop_back()) {
            operand.begin = words.back().begin;
            operand.expression = build(Op::kNot, {operand.expression}, operand.begin);
        }
        operand.level = Level::kNot;
        return operand;
    }

    // x < y <= z is (x < y) and (y <= z), with one tree of y.
    Operand comparisons(const Operand& first) {
        std::vector<Operand> compared{first};
        std::vector<Token> signs;
        Operand all = first;
        for (const BinaryOperator* found = operator_here(); found != nullptr && found->level == Level::kComparison;
             found = operator_here()) {
            signs.push_back(take());
            compared.push_back(binary(Level::kBitOr));
            const size_t n = signs.size();
            const size_t position = signs.back().begin;
            const Expression last = build(found->op, {compared[n - 1].expression, compared[n].expression}, position);
            all.expression = n == 1 ? last : build(Op::kAnd, {all.expression, last}, position);
        }
        if (warnings_.size() < kMostWarnings) {
            if (auto warning = warning_of_bit_operator(text_, compared, signs)) warnings_.push_back(*warning);
        }
        all.end = compared.back().end;
        all.level = Level::kComparison;
        return all;
    }

    // A minus right before a number belongs to the number; + keeps an integer and makes one of a boolean.
    Operand signed_value() {
        std::vector<Token> signs;
        while (token_.is("-") || token_.is("+") || token_.is("~")) signs.push_back(take());
        const bool negative = !signs.empty() && signs.back().is("-") && token_.kind == TokenKind::kInteger;
        Operand operand = negative ? negative_number(signs.back()) : primary();
        refuse_suffix(operand);
        if (negative) signs.pop_back();
        for (; !signs.empty(); signs.pop_back()) {
            const Token& sign = signs.back();
            operand.begin = sign.begin;
            operand.level = Level::kUnary;
            if (!sign.is("+")) {
                operand.expression = build(sign.is("-") ? Op::kNegate : Op::kInvert, {operand.expression}, sign.begin);
            } else if (operand.expression.type() == ValueType::kBoolean) {
                operand.expression = build(Op::kAdd, {0, operand.expression}, sign.begin);
            }
        }
        return operand;
    }

    Operand negative_number(const Token& minus) {
        const Token number = take();
        const auto value = static_cast<int64_t>(uint64_t{0} - number.value);
        return {Expression(value), minus.begin, number.end(), Level::kUnary};
    }

    Operand primary() {
        if (token_.kind == TokenKind::kInteger) return number();
        if (token_.is("(")) return bracketed();
        if (token_.is("not") && !previous_.empty()) {
            fail(token_.begin, fmt::format("'not' binds looser than the '{}' before it: write '(not ...)'", previous_));
        }
        if (token_.kind == TokenKind::kName) return named();
        unexpected(previous_.empty() ? "a value" : fmt::format("a value after '{}'", previous_));
    }

    Operand number() {
        if (token_.value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
            fail(token_.begin, fmt::format("the integer {} does not fit in 64 signed bits", shortened(token_.text)));
        }
        const Token number = take();
        return {Expression(static_cast<int64_t>(number.value)), number.begin, number.end(), Level::kPrimary};
    }

    Operand bracketed() {
        const Token open = take_bracket();
        Operand inside = choice();
        const size_t end = close(open, "an operator or");
        return {inside.expression, open.begin, end, Level::kPrimary};
    }

    Token take_bracket() {
        if (++brackets_ > kMaximumDepth) {
            fail(token_.begin, fmt::format("brackets are nested more than {} deep", kMaximumDepth));
        }
        return take();
    }

    // Returns the end of the closing bracket.
    size_t close(const Token& open, std::string_view or_else) {
        const std::string_view closing = open.is("(") ? ")" : "]";
        if (!token_.is(closing)) {
            unexpected(fmt::format("{} '{}' for the '{}' at column {}", or_else, closing, open.text, open.begin + 1));
        }
        --brackets_;
        return take().end();
    }

    // Expressions separated by commas up to the closing bracket, with one more comma allowed at the end, as in Python.
    std::vector<Operand> list(const Token& open) {
        std::vector<Operand> operands;
        const std::string_view closing = open.is("(") ? ")" : "]";
        while (!token_.is(closing)) {
            refuse_keyword(open);
            operands.push_back(choice());
            if (!token_.is(",")) break;
            take();
        }
        return operands;
    }

    void refuse_keyword(const Token& open) const {
        if (!open.is("(") || token_.kind != TokenKind::kName) return;
        if (next_token(text_, token_.end()).text != "=") return;
        fail(token_.begin, fmt::format("operands are given by position, without '{} ='", shortened(token_.text)));
    }

    Operand named() {
        const Token name = token_;
        if (const std::optional<Expression> value = value_named(name.text)) {
            take();
            return {*value, name.begin, name.end(), Level::kPrimary};
        }
        if (const Function* function = function_named(name.text)) return call(*function);
        if (const auto scalar = bindings_.scalars.find(std::string(name.text)); scalar != bindings_.scalars.end()) {
            take();
            return {jali::scalar(scalar->first, scalar->second), name.begin, name.end(), Level::kPrimary};
        }
        if (const auto table = bindings_.tables.find(std::string(name.text)); table != bindings_.tables.end()) {
            return read(table->first, table->second);
        }
        if (is_reserved(name.text) || !advice_on(name.text).empty()) {
            unexpected(previous_.empty() ? "a value" : fmt::format("a value after '{}'", previous_));
        }
        fail(name.begin, fmt::format("unknown name '{}': {}", shortened(name.text), known_names()));
    }

    std::string known_names() const {
        std::vector<std::string> names{"b", "h", "q", "kv", "q_len", "kv_len"};
        for (const auto& [name, value] : bindings_.scalars) names.push_back(name);
        for (const auto& [name, table] : bindings_.tables) names.push_back(name);
        const bool all = names.size() <= kMostNamesListed;
        if (!all) names.resize(kMostNamesListed);
        return fmt::format("the names here are {}{}", fmt::join(names, ", "), all ? "" : ", ...");
    }

    Operand call(const Function& function) {
        const Token name = take();
        if (!token_.is("(")) {
            fail(name.begin, fmt::format("'{}' is a function: write '{}(...)'", name.text, name.text));
        }
        const Token open = take_bracket();
        const std::vector<Operand> operands = list(open);
        const size_t end = close(open, operands.empty() ? "a value or" : "an operator, ',' or");
        if (operands.size() < function.least || operands.size() > function.most) {
            fail(name.begin, fmt::format("{} takes {}{} operand{} but has {}", name.text,
                                         function.least == function.most ? "" : "at least ", function.least,
                                         function.least == 1 ? "" : "s", operands.size()));
        }
        if (function.op == Op::kWhere) require_boolean(text_, operands[0], "the condition of where");
        return {build(function.op, expressions(operands), name.begin), name.begin, end, Level::kPrimary};
    }

    // t[i, j], t[i][j] and what lies between them.
    Operand read(const std::string& key, const Table& table) {
        const Token name = take();
        if (!token_.is("[")) {
            fail(name.begin, fmt::format("the table '{}' needs its index: write '{}[...]'", name.text, name.text));
        }
        std::vector<Expression> indices;
        size_t end = name.end();
        while (token_.is("[")) {
            const Token open = take_bracket();
            const std::vector<Operand> more = list(open);
            if (more.empty()) unexpected("an index after '['");
            end = close(open, "an operator, ',' or");
            for (const Operand& each : more) indices.push_back(each.expression);
        }
        const Table called = stands_for(key, table.name()) ? table : table.renamed(key);
        return {build_read(called, indices, name.begin), name.begin, end, Level::kPrimary};
    }

    static std::vector<Expression> expressions(const std::vector<Operand>& operands) {
        std::vector<Expression> all;
        for (const Operand& each : operands) all.push_back(each.expression);
        return all;
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

// The words and precedences of the text form, shared by its lexer, parser and printer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "jali/predicate.h"

namespace jali {

// Precedence as in Python, from the loosest to the tightest.
enum class Level : uint8_t {
    kChoice,  // x if c else y
    kOr,
    kAnd,
    kNot,
    kComparison,
    kBitOr,
    kBitXor,
    kBitAnd,
    kShift,
    kSum,
    kProduct,
    kUnary,
    kPrimary,
};

constexpr Level tighter(Level level) {
    return static_cast<Level>(static_cast<int>(level) + 1);
}

struct BinaryOperator {
    std::string_view text;
    Op op;
    Level level;
};

// Null where the text or the operation is no binary operator. & | ^ are listed as operations on integers; make() turns
// them into the logical ones, and those are found here by the same spelling.
const BinaryOperator* binary_operator(std::string_view text);
const BinaryOperator* binary_operator(Op op);

struct Function {
    std::string_view name;
    Op op;
    size_t least, most;  // operands
};

const Function* function_named(std::string_view name);
const Function* function_of(Op op);

// b, h, q, kv, q_len, kv_len, True, False: the names that stand for a value by themselves.
std::optional<Expression> value_named(std::string_view name);
std::string_view name_of_index(Op op);

// What to write instead of a word that the language does not have; empty where there is no advice.
std::string_view advice_on(std::string_view word);

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// ASCII letters, digits and _, not beginning with a digit.
bool is_identifier(std::string_view name);
// Python's keywords, the names above and the functions: no scalar and no table has such a name.
bool is_reserved(std::string_view name);

}  // namespace jali

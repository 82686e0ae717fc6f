#include "mask/text_syntax.h"

#include <algorithm>
#include <array>
#include <limits>

namespace jali {

namespace {

constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

constexpr std::array kBinaryOperators = {
    BinaryOperator{"or", Op::kOr, Level::kOr},
    BinaryOperator{"and", Op::kAnd, Level::kAnd},
    BinaryOperator{"<", Op::kLess, Level::kComparison},
    BinaryOperator{"<=", Op::kLessEqual, Level::kComparison},
    BinaryOperator{">", Op::kGreater, Level::kComparison},
    BinaryOperator{">=", Op::kGreaterEqual, Level::kComparison},
    BinaryOperator{"==", Op::kEqual, Level::kComparison},
    BinaryOperator{"!=", Op::kNotEqual, Level::kComparison},
    BinaryOperator{"|", Op::kBitOr, Level::kBitOr},
    BinaryOperator{"^", Op::kBitXor, Level::kBitXor},
    BinaryOperator{"&", Op::kBitAnd, Level::kBitAnd},
    BinaryOperator{"<<", Op::kShiftLeft, Level::kShift},
    BinaryOperator{">>", Op::kShiftRight, Level::kShift},
    BinaryOperator{"+", Op::kAdd, Level::kSum},
    BinaryOperator{"-", Op::kSubtract, Level::kSum},
    BinaryOperator{"*", Op::kMultiply, Level::kProduct},
    BinaryOperator{"//", Op::kFloorDivide, Level::kProduct},
    BinaryOperator{"%", Op::kFloorModulo, Level::kProduct},
};

constexpr std::array kFunctions = {
    Function{"abs", Op::kAbs, 1, 1},
    Function{"min", Op::kMinimum, 2, kAnyNumber},
    Function{"max", Op::kMaximum, 2, kAnyNumber},
    Function{"clamp", Op::kClamp, 3, 3},
    Function{"where", Op::kWhere, 3, 3},
};

constexpr std::array<std::string_view, 35> kKeywords = {
    "False",  "None",     "True", "and",    "as",   "assert", "async",  "await", "break", "class", "continue", "def",
    "del",    "elif",     "else", "except", "for",  "from",   "global", "if",    "in",    "is",    "import",   "lambda",
    "return", "nonlocal", "not",  "or",     "pass", "raise",  "try",    "while", "with",  "yield", "finally",
};

struct NamedIndex {
    std::string_view name;
    Op op;
};
constexpr std::array kIndices = {
    NamedIndex{"b", Op::kIndexB},   NamedIndex{"h", Op::kIndexH},   NamedIndex{"q", Op::kIndexQ},
    NamedIndex{"kv", Op::kIndexKv}, NamedIndex{"q_len", Op::kQLen}, NamedIndex{"kv_len", Op::kKvLen},
};

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

// The element of `list` that `matches`, or null.
template <class List, class Matches>
const typename List::value_type* find_in(const List& list, Matches matches) {
    const auto found = std::find_if(list.begin(), list.end(), matches);
    return found == list.end() ? nullptr : &*found;
}

Op on_integers(Op op) {
    switch (op) {
        case Op::kLogicalAnd:
            return Op::kBitAnd;
        case Op::kLogicalOr:
            return Op::kBitOr;
        case Op::kLogicalXor:
            return Op::kBitXor;
        default:
            return op;
    }
}

Expression index_expression(Op op) {
    switch (op) {
        case Op::kIndexB:
            return indices::b;
        case Op::kIndexH:
            return indices::h;
        case Op::kIndexQ:
            return indices::q;
        case Op::kIndexKv:
            return indices::kv;
        case Op::kQLen:
            return indices::q_len;
        default:
            return indices::kv_len;
    }
}

}  // namespace

const BinaryOperator* binary_operator(std::string_view text) {
    return find_in(kBinaryOperators, [&](const BinaryOperator& each) { return each.text == text; });
}

const BinaryOperator* binary_operator(Op op) {
    return find_in(kBinaryOperators, [&](const BinaryOperator& each) { return each.op == on_integers(op); });
}

const Function* function_named(std::string_view name) {
    return find_in(kFunctions, [&](const Function& each) { return each.name == name; });
}

const Function* function_of(Op op) {
    return find_in(kFunctions, [&](const Function& each) { return each.op == op; });
}

std::optional<Expression> value_named(std::string_view name) {
    if (name == "True") return Expression(true);
    if (name == "False") return Expression(false);
    const NamedIndex* index = find_in(kIndices, [&](const NamedIndex& each) { return each.name == name; });
    if (index == nullptr) return std::nullopt;
    return index_expression(index->op);
}

std::string_view name_of_index(Op op) {
    const NamedIndex* index = find_in(kIndices, [&](const NamedIndex& each) { return each.op == op; });
    return index == nullptr ? std::string_view() : index->name;
}

std::string_view advice_on(std::string_view word) {
    const ForeignWord* found = find_in(kForeignWords, [&](const ForeignWord& each) { return each.word == word; });
    return found == nullptr ? std::string_view() : found->advice;
}

bool is_identifier(std::string_view name) {
    return !name.empty() && is_letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_reserved(std::string_view name) {
    return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end() || function_named(name) != nullptr ||
           find_in(kIndices, [&](const NamedIndex& each) { return each.name == name; }) != nullptr;
}

}  // namespace jali

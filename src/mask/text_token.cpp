#include "mask/text_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "mask/text_syntax.h"

namespace jali {

namespace {

constexpr uint64_t kLargestMagnitude = uint64_t{1} << 63;
constexpr size_t kLongestQuote = 60;

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
}

Token wrong(size_t begin, std::string_view text, std::string message) {
    return {.kind = TokenKind::kWrong, .begin = begin, .text = text, .message = std::move(message)};
}

int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::numeric_limits<int>::max();
}

int base_of(std::string_view word) {
    if (word.size() < 2 || word[0] != '0') return 10;
    switch (word[1]) {
        case 'x':
        case 'X':
            return 16;
        case 'o':
        case 'O':
            return 8;
        case 'b':
        case 'B':
            return 2;
        default:
            return 10;
    }
}

// Digits of a base with single underscores between them (and, after a prefix, before the first).
bool well_formed(std::string_view digits, int base, bool after_prefix) {
    bool underscore = !after_prefix;
    for (const char c : digits) {
        if (c == '_' && underscore) return false;
        if (c != '_' && digit_value(c) >= base) return false;
        underscore = c == '_';
    }
    return !digits.empty() && digits.back() != '_';
}

// Nothing where the number is above 2^63.
std::optional<uint64_t> magnitude_of(std::string_view digits, int base) {
    uint64_t value = 0;
    const auto unsigned_base = static_cast<uint64_t>(base);
    for (const char c : digits) {
        if (c == '_') continue;
        const auto digit = static_cast<uint64_t>(digit_value(c));
        if (value > (kLargestMagnitude - digit) / unsigned_base) return std::nullopt;
        value = value * unsigned_base + digit;
    }
    return value;
}

bool is_floating_point(std::string_view word) {
    const size_t digits = static_cast<size_t>(std::find_if_not(word.begin(), word.end(), is_digit) - word.begin());
    return word.find('.') != word.npos ||
           (digits > 0 && digits < word.size() && (word[digits] == 'e' || word[digits] == 'E'));
}

std::string leading_zeros(std::string_view word) {
    const std::string_view rest = word.substr(word.find_first_not_of("0_"));
    const bool octal = std::none_of(rest.begin(), rest.end(), [](char c) { return c == '8' || c == '9'; });
    return fmt::format("'{}' has leading zeros: write {}{}", shortened(word), shortened(rest),
                       octal ? fmt::format(", or 0o{} for an octal number", shortened(rest)) : "");
}

Token number(std::string_view text, size_t begin) {
    size_t end = begin;
    while (end < text.size() && (is_digit(text[end]) || is_letter(text[end]) || text[end] == '.')) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    const int base = base_of(word);
    if (base == 10 && is_floating_point(word)) {
        return wrong(begin, word,
                     fmt::format("'{}' is not an integer: predicates have no floating point", shortened(word)));
    }
    const std::string_view digits = base == 10 ? word : word.substr(2);
    if (!well_formed(digits, base, base != 10)) {
        return wrong(begin, word, fmt::format("'{}' is not a number", shortened(word)));
    }
    const std::optional<uint64_t> value = magnitude_of(digits, base);
    if (base == 10 && word[0] == '0' && value != 0u) return wrong(begin, word, leading_zeros(word));
    if (!value) {
        return wrong(begin, word, fmt::format("the integer {} does not fit in 64 signed bits", shortened(word)));
    }
    return {.kind = TokenKind::kInteger, .begin = begin, .text = word, .value = *value, .message = {}};
}

Token name(std::string_view text, size_t begin) {
    size_t end = begin;
    while (end < text.size() && (is_digit(text[end]) || is_letter(text[end]))) ++end;
    return {.kind = TokenKind::kName, .begin = begin, .text = text.substr(begin, end - begin), .message = {}};
}

// A symbol of the language has no advice.
struct Symbol {
    std::string_view text;
    std::string_view advice;
};

// Longer ones first. What other languages write, and papers, gets an answer of its own.
constexpr std::array kSymbols = {
    Symbol{"===", "write '=='"},
    Symbol{"!==", "write '!='"},
    Symbol{"≤", "write '<='"},
    Symbol{"≥", "write '>='"},
    Symbol{"≠", "write '!='"},
    Symbol{"∧", "write 'and'"},
    Symbol{"∨", "write 'or'"},
    Symbol{"¬", "write 'not'"},
    Symbol{"−", "write '-'"},
    Symbol{"×", "write '*'"},
    Symbol{"&&", "write 'and'"},
    Symbol{"||", "write 'or'"},
    Symbol{"**", "multiply, or shift with '<<'"},
    Symbol{"=<", "write '<='"},
    Symbol{"=>", "write '>='"},
    Symbol{"<>", "write '!='"},
    Symbol{":=", "a predicate assigns nothing"},
    Symbol{"//", ""},
    Symbol{"<<", ""},
    Symbol{">>", ""},
    Symbol{"<=", ""},
    Symbol{">=", ""},
    Symbol{"==", ""},
    Symbol{"!=", ""},
    Symbol{"=", "write '==' to compare"},
    Symbol{"!", "write 'not'"},
    Symbol{"/", "write '//', which rounds down"},
    Symbol{"?", "write 'x if c else y'"},
    Symbol{":", "an index is one integer, and there are no slices"},
    Symbol{".", "values have no members"},
    Symbol{"'", "there are no strings"},
    Symbol{"\"", "there are no strings"},
    Symbol{"{", "group with '('"},
    Symbol{"}", "group with '(' and ')'"},
    Symbol{"#", "there are no comments"},
    Symbol{"@", "multiply with '*'"},
    Symbol{";", "a predicate is one expression"},
    Symbol{"+", ""},
    Symbol{"-", ""},
    Symbol{"*", ""},
    Symbol{"%", ""},
    Symbol{"&", ""},
    Symbol{"|", ""},
    Symbol{"^", ""},
    Symbol{"~", ""},
    Symbol{"<", ""},
    Symbol{">", ""},
    Symbol{"(", ""},
    Symbol{")", ""},
    Symbol{"[", ""},
    Symbol{"]", ""},
    Symbol{",", ""},
};

Token symbol(std::string_view text, size_t begin) {
    const std::string_view rest = text.substr(begin);
    for (const Symbol& each : kSymbols) {
        if (rest.substr(0, each.text.size()) != each.text) continue;
        const std::string_view found = rest.substr(0, each.text.size());
        if (!each.advice.empty()) {
            return wrong(begin, found, fmt::format("'{}' is not in the language: {}", found, each.advice));
        }
        return {.kind = TokenKind::kSymbol, .begin = begin, .text = found, .message = {}};
    }
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (byte > ' ' && byte < 0x7f) {
        return wrong(begin, rest.substr(0, 1), fmt::format("'{}' is not in the language", rest[0]));
    }
    return wrong(begin, rest.substr(0, 1),
                 fmt::format("the byte 0x{:02x} is not in the language: names and numbers are ASCII", byte));
}

}  // namespace

Token next_token(std::string_view text, size_t position) {
    while (position < text.size() && is_space(text[position])) ++position;
    if (position == text.size()) return {.begin = position, .text = {}, .message = {}};
    const char c = text[position];
    const bool point_and_digit = c == '.' && position + 1 < text.size() && is_digit(text[position + 1]);
    if (is_digit(c) || point_and_digit) return number(text, position);
    if (is_letter(c)) return name(text, position);
    return symbol(text, position);
}

std::string shortened(std::string_view text) {
    std::string quoted(text.substr(0, kLongestQuote));
    std::replace_if(quoted.begin(), quoted.end(), is_space, ' ');
    std::replace_if(quoted.begin(), quoted.end(), is_control, '?');
    if (text.size() > kLongestQuote) quoted += "...";
    return quoted;
}

}  // namespace jali

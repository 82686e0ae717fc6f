// The tokens of the text form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace jali {

enum class TokenKind : uint8_t {
    kEnd,
    kInteger,  // value; at most 2^63, which is legal after a minus alone
    kName,     // a keyword, too
    kSymbol,   // an operator, a bracket or a comma
    kWrong,    // no token of the language: message says why, and what to write
};

struct Token {
    TokenKind kind = TokenKind::kEnd;
    size_t begin = 0;
    std::string_view text;
    uint64_t value = 0;
    std::string message;

    size_t end() const { return begin + text.size(); }
    bool is(std::string_view word) const {
        return (kind == TokenKind::kName || kind == TokenKind::kSymbol) && text == word;
    }
};

// The first token of `text` at or after `position`. Never throws for what the text says: a wrong token is an error only
// when the parser arrives at it, so that of two errors the first one is reported.
Token next_token(std::string_view text, size_t position);

// The text on one line, or its beginning where it is too long for a message.
std::string shortened(std::string_view text);

}  // namespace jali

#include "io/visible_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace jali::io {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

struct Character {
    uint32_t code = 0;
    size_t bytes = 0;  // 0: no UTF-8 here
};

// The character at the start of `text`, which is not empty. Rejects overlong forms, surrogates and what is too large.
Character first_character(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
    const uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
    uint32_t code = lead & (0x7FU >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        code = code << 6 | (byte(i) & 0x3FU);
    }
    constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
    return {code, bytes};
}

// Shown by nothing, or able to make a line read as another than it is.
bool hides(uint32_t code) {
    return (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || code == 0x61C || code == 0xFFFE || code == 0xFFFF;
}

}  // namespace

std::string visible(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const Character next = first_character(text);
        if (next.bytes == 0) {
            shown += kReplacement;
            text.remove_prefix(1);
            continue;
        }
        if (next.code == '\t') {
            shown += ' ';
        } else if (next.code < 0x20 || next.code == 0x7F) {
            shown += fmt::format("\\x{:02x}", next.code);
        } else if ((next.code >= 0x80 && next.code < 0xA0) || hides(next.code)) {
            shown += fmt::format("\\u{:04x}", next.code);
        } else {
            shown += text.substr(0, next.bytes);
        }
        text.remove_prefix(next.bytes);
    }
    return shown;
}

std::string html(std::string_view text) {
    std::string escaped;
    for (const char c : visible(text)) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

size_t characters_of(std::string_view text) {
    size_t characters = 0;
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    return characters;
}

std::string shortened(std::string_view text, size_t characters) {
    const size_t all = characters_of(text);
    if (all <= characters) return std::string(text);
    if (characters == 0) return "";
    const size_t tail = (characters - 1) / 2, head = characters - 1 - tail;
    std::string kept;
    size_t seen = 0;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U && seen++ == head) kept += kEllipsis;
        if (seen <= head || seen > all - tail) kept += c;
    }
    return kept;
}

}  // namespace jali::io

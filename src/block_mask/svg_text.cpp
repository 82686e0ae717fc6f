#include "block_mask/svg_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace jali {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The character at the front of `text` and its bytes; no bytes are consumed beyond one where they are not UTF-8.
struct Character {
    uint32_t code = 0xFFFD;
    size_t bytes = 1;
};

Character first_character(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
    const uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const size_t bytes = lead >= 0xF0 && lead < 0xF5   ? 4
                         : lead >= 0xE0 && lead < 0xF0 ? 3
                         : lead >= 0xC2 && lead < 0xE0 ? 2
                                                       : 0;
    if (bytes == 0 || text.size() < bytes) return {};
    uint32_t code = lead & (0x7FU >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        code = code << 6 | (byte(i) & 0x3FU);
    }
    constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
    return {code, bytes};
}

// XML 1.0, section 2.2.
bool is_xml_character(uint32_t code) {
    return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code != 0xFFFE && code != 0xFFFF);
}

std::string_view escaped(std::string_view character) {
    switch (character[0]) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&apos;";
        default:
            return character;
    }
}

// The characters of a text, one string each, those that XML cannot hold replaced.
std::vector<std::string_view> characters_of(std::string_view text) {
    std::vector<std::string_view> characters;
    while (!text.empty()) {
        const Character character = first_character(text);
        const bool replaced = character.code == 0xFFFD || !is_xml_character(character.code);
        characters.push_back(replaced ? kReplacement : text.substr(0, character.bytes));
        text.remove_prefix(character.bytes);
    }
    return characters;
}

bool is_space(std::string_view character) {
    return character.find_first_of(" \t\r\n") == 0;
}

}  // namespace

std::string xml_text(std::string_view text) {
    std::string result;
    for (const std::string_view character : characters_of(text)) result += escaped(character);
    return result;
}

std::vector<std::string> wrap(std::string_view text, size_t characters, size_t lines) {
    const std::vector<std::string_view> all = characters_of(text);
    std::vector<std::string> wrapped;
    for (size_t begin = 0; begin < all.size();) {
        if (is_space(all[begin])) {
            ++begin;
            continue;
        }
        size_t end = std::min(all.size(), begin + characters);
        if (end < all.size()) {
            size_t space = end;
            while (space > begin && !is_space(all[space])) --space;
            if (space > begin) end = space;
        }
        std::string line;
        for (size_t i = begin; i < end; ++i) line += is_space(all[i]) ? " " : all[i];
        if (wrapped.size() == lines) {
            wrapped.back() += "…";
            break;
        }
        wrapped.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
        begin = end;
    }
    return wrapped;
}

std::string svg_number(double value) {
    std::string text = fmt::format("{:.4f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

std::string svg_text(double x, double y, const TextStyle& style, std::string_view text) {
    return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", svg_number(x),
                       svg_number(y), svg_number(style.size), style.anchor, style.attributes, xml_text(text));
}

}  // namespace jali

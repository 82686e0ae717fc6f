// Text and numbers as SVG writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jali {

// Character data of an XML document: & < > " ' escaped; bytes that are not UTF-8 and characters that XML cannot hold
// become U+FFFD.
std::string xml_text(std::string_view text);

// Lines of at most `characters`, broken at spaces where there are any; at most `lines` of them, the last ending in an
// ellipsis if the text goes on. Line ends and tabs count as spaces.
std::vector<std::string> wrap(std::string_view text, size_t characters, size_t lines);

// "12", "12.5": four decimals at most.
std::string svg_number(double value);

struct TextStyle {
    double size = 0;
    std::string_view anchor = "start";
    std::string attributes = {};  // further ones, each with a space before it
};
// A <text> element; `text` is plain.
std::string svg_text(double x, double y, const TextStyle& style, std::string_view text);

}  // namespace jali

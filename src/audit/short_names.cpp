#include "audit/short_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "audit/kernel_text.h"
#include "audit/visible_text.h"

namespace jali::audit {

namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
constexpr size_t kShortestHash = 8;

// Of a word; the bytes of a character beyond ASCII stay together too.
bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string_view plain_name(const Kernel& kernel) {
    return without_signature(full_name(kernel));
}

// Everything between the outermost < and > left out.
std::string without_arguments(std::string_view name) {
    std::string kept;
    int depth = 0;
    for (const char c : name) {
        if (c == '>' && depth > 0) --depth;
        if (depth == 0) kept += c;
        if (c == '<') ++depth;
    }
    return kept;
}

// Which kernels share a text.
std::map<std::string, std::vector<size_t>> groups_of(const std::vector<std::string>& texts) {
    std::map<std::string, std::vector<size_t>> groups;
    for (size_t i = 0; i < texts.size(); ++i) groups[texts[i]].push_back(i);
    return groups;
}

struct Common {
    size_t prefix = 0, suffix = 0;  // characters that all texts begin and end with
};

Common common_of(const std::vector<std::string>& texts) {
    const std::string& first = texts.front();
    Common common{first.size(), first.size()};
    for (const std::string& text : texts) {
        const size_t length = std::min(first.size(), text.size());
        size_t i = 0;
        while (i < length && text[i] == first[i]) ++i;
        common.prefix = std::min(common.prefix, i);
        size_t j = 0;
        while (j < length && text[text.size() - 1 - j] == first[first.size() - 1 - j]) ++j;
        common.suffix = std::min(common.suffix, j);
    }
    // Whole words stay together: "128" and "192" differ as words, not in their middle digits.
    while (common.prefix > 0 && is_word(first[common.prefix - 1])) --common.prefix;
    while (common.suffix > 0 && is_word(first[first.size() - common.suffix])) --common.suffix;
    return common;
}

// The names of kernels that differ in template arguments only: "kernel<…128, true…>".
std::vector<std::string> told_apart(const std::string& base, const std::vector<std::string>& names, size_t characters) {
    const Common common = common_of(names);
    const size_t open = base.find('<');
    const std::string head = open == std::string::npos ? "" : base.substr(0, open);
    std::vector<std::string> shown;
    for (const std::string& name : names) {
        const size_t end = name.size() - std::min(common.suffix, name.size() - std::min(common.prefix, name.size()));
        std::string middle = name.substr(common.prefix, end - std::min(end, common.prefix));
        if (middle.size() + 2 >= name.size()) {
            shown.push_back(name);
        } else if (head.empty()) {
            shown.push_back(std::string(kEllipsis) + middle + std::string(kEllipsis));
        } else {
            shown.push_back(fmt::format("{}<{}{}{}>", head, kEllipsis, middle, kEllipsis));
        }
        shown.back() = shortened(shown.back(), characters);
    }
    return shown;
}

}  // namespace

std::string_view without_signature(std::string_view demangled) {
    // The parameter list is the last parenthesis at depth 0 of <>; "(anonymous namespace)" has something after it.
    int angle = 0, round = 0;
    size_t parameters = std::string_view::npos, name_begin = 0;
    for (size_t i = 0; i < demangled.size(); ++i) {
        const char c = demangled[i];
        if (c == '<') ++angle;
        if (c == '>' && angle > 0) --angle;
        if (angle > 0) continue;
        if (c == '(' && round++ == 0) parameters = i;
        if (c == ')' && round > 0) --round;
        if (c == ':' && round == 0) parameters = std::string_view::npos;
        if (c == ' ' && round == 0 && parameters == std::string_view::npos) name_begin = i + 1;
    }
    if (parameters == std::string_view::npos || parameters == 0) return demangled;
    if (name_begin >= parameters) name_begin = 0;
    return demangled.substr(name_begin, parameters - name_begin);
}

std::string without_hashes(std::string_view name) {
    std::string kept;
    for (size_t i = 0; i < name.size();) {
        size_t hex = i;
        bool digit = false;
        while (hex < name.size() && std::isxdigit(static_cast<unsigned char>(name[hex])) != 0) {
            digit |= is_digit(name[hex]);
            ++hex;
        }
        if (digit && hex - i >= kShortestHash) {
            kept += '#';
            i = hex;
        } else if (is_digit(name[i])) {
            kept += '#';
            while (i < name.size() && is_digit(name[i])) ++i;
        } else {
            kept += name[i++];
        }
    }
    return kept;
}

std::vector<std::string> short_names(std::span<const Kernel* const> kernels, size_t characters) {
    std::vector<std::string> full, names;
    for (const Kernel* kernel : kernels) {
        full.push_back(visible(plain_name(*kernel)));
        names.push_back(without_arguments(full.back()));
    }
    for (const auto& [base, members] : groups_of(names)) {
        std::vector<std::string> distinct;
        for (const size_t member : members) distinct.push_back(full[member]);
        std::vector<std::string> sorted = distinct;
        std::sort(sorted.begin(), sorted.end());
        const bool one = sorted.front() == sorted.back();
        std::vector<std::string> shown;
        if (one) {
            const std::string& whole = distinct.front();
            shown.assign(members.size(), shortened(characters_of(whole) <= characters ? whole : base, characters));
        } else if (std::all_of(distinct.begin(), distinct.end(),
                               [&](const std::string& name) { return characters_of(name) <= characters; })) {
            shown = distinct;
        } else {
            shown = told_apart(base, distinct, characters);
        }
        for (size_t i = 0; i < members.size(); ++i) names[members[i]] = shown[i];
    }
    // What long names still have in common is numbered.
    for (const auto& [text, members] : groups_of(names)) {
        std::map<std::string, size_t> number;
        for (const size_t member : members) number.emplace(full[member], number.size() + 1);
        if (number.size() < 2) continue;
        for (const size_t member : members) names[member] += " #" + std::to_string(number[full[member]]);
    }
    return names;
}

}  // namespace jali::audit

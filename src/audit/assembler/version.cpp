#include "audit/assembler/version.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace jali::audit {

namespace {

constexpr size_t kMostNumbers = 4;
constexpr size_t kMostDigits = 9;

bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

std::vector<int> numbers_of(std::string_view version) {
    std::vector<int> numbers;
    while (!version.empty()) {
        const std::string_view part = version.substr(0, version.find('.'));
        int number = 0;
        std::from_chars(part.data(), part.data() + part.size(), number);
        numbers.push_back(number);
        version.remove_prefix(std::min(version.size(), part.size() + 1));
    }
    return numbers;
}

}  // namespace

bool is_version(std::string_view text) {
    size_t numbers = 1, digits = 0;
    for (const char character : text) {
        if (character == '.') {
            if (digits == 0) return false;
            ++numbers;
            digits = 0;
        } else if (!is_digit(character) || ++digits > kMostDigits) {
            return false;
        }
    }
    return digits > 0 && numbers <= kMostNumbers;
}

bool is_older(std::string_view one, std::string_view other) {
    return numbers_of(one) < numbers_of(other);
}

bool begins_version(std::string_view beginning, std::string_view version) {
    return !beginning.empty() && version.starts_with(beginning) &&
           (version.size() == beginning.size() || version[beginning.size()] == '.');
}

std::string version_after(std::string_view text, std::string_view mark) {
    for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
        const std::string_view rest = text.substr(at + mark.size());
        const auto end = std::ranges::find_if(rest, [](char c) { return !is_digit(c) && c != '.'; });
        std::string_view version = rest.substr(0, static_cast<size_t>(end - rest.begin()));
        while (version.ends_with('.')) version.remove_suffix(1);
        if (is_version(version)) return std::string(version);
    }
    return {};
}

}  // namespace jali::audit

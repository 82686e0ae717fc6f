#include "cli/numbers.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "jali/error.h"

namespace jali::cli {

namespace {

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

int64_t parse_integer(std::string_view what, std::string_view text, IntegerRange range) {
    const std::string_view digits = trimmed(text);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range)
        throw Error(fmt::format("{} is {}, which does not fit 64 bits", what, text));
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        throw Error(fmt::format("{} is '{}', not a whole number", what, text));
    }
    if (value < range.least) throw Error(fmt::format("{} is {} but must be at least {}", what, value, range.least));
    if (value > range.most) throw Error(fmt::format("{} is {} but must be at most {}", what, value, range.most));
    return value;
}

std::vector<int64_t> parse_integers(std::string_view what, std::string_view text) {
    std::vector<int64_t> values;
    for (size_t begin = 0;;) {
        const size_t comma = text.find(',', begin);
        values.push_back(
            parse_integer(fmt::format("value {} of {}", values.size(), what), text.substr(begin, comma - begin)));
        if (comma == std::string_view::npos) return values;
        begin = comma + 1;
    }
}

int64_t parse_bytes(std::string_view what, std::string_view text) {
    constexpr std::array<std::string_view, 3> kUnits = {"KiB", "MiB", "GiB"};
    std::string_view digits = text;
    int shift = 0;
    for (size_t i = 0; i < kUnits.size(); ++i) {
        if (!text.ends_with(kUnits[i])) continue;
        digits.remove_suffix(kUnits[i].size());
        shift = 10 * static_cast<int>(i + 1);
    }
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
        throw Error(fmt::format("{} is '{}' but must be a count of bytes: 4096, 64KiB, 64MiB or 2GiB", what, text));
    }
    return parse_integer(what, digits, {0, std::numeric_limits<int64_t>::max() >> shift}) << shift;
}

double parse_finite(std::string_view what, std::string_view text) {
    const std::string digits(trimmed(text));
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0') throw Error(fmt::format("{} is '{}', not a number", what, text));
    if (!std::isfinite(static_cast<float>(value))) {
        throw Error(fmt::format("{} is {} but must be a finite float32 number", what, text));
    }
    return value;
}

CLI::Option* add_integer(CLI::App& app, const std::string& name, int64_t& target, IntegerRange range,
                         const std::string& description) {
    return app
        .add_option_function<std::string>(
            name, [&target, name, range](const std::string& text) { target = parse_integer(name, text, range); },
            description)
        ->type_name("N")
        ->default_str(fmt::format("{}", target));
}

CLI::Option* add_integer(CLI::App& app, const std::string& name, std::optional<int64_t>& target, IntegerRange range,
                         const std::string& description) {
    return app
        .add_option_function<std::string>(
            name, [&target, name, range](const std::string& text) { target = parse_integer(name, text, range); },
            description)
        ->type_name("N");
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& target,
                        const std::string& description) {
    return app
        .add_option_function<std::string>(
            name, [&target, name](const std::string& text) { target = parse_finite(name, text); }, description)
        ->type_name("X");
}

}  // namespace jali::cli

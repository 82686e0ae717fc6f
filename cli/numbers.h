// Numbers as users type them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace jali::cli {

struct IntegerRange {
    int64_t least = std::numeric_limits<int64_t>::min();
    int64_t most = std::numeric_limits<int64_t>::max();
};

// A whole decimal number. Throws Error "WHAT is 'TEXT', not a whole number", or with the range that it leaves.
int64_t parse_integer(std::string_view what, std::string_view text, IntegerRange range = {});
// 1,2,3 (spaces allowed around each).
std::vector<int64_t> parse_integers(std::string_view what, std::string_view text);
// A count of bytes: 4096, 64KiB, 64MiB or 2GiB.
int64_t parse_bytes(std::string_view what, std::string_view text);
// A decimal number that is finite in float32.
double parse_finite(std::string_view what, std::string_view text);

// Options whose value goes through the functions above, so that a mistake reads the same everywhere.
CLI::Option* add_integer(CLI::App& app, const std::string& name, int64_t& target, IntegerRange range,
                         const std::string& description);
CLI::Option* add_integer(CLI::App& app, const std::string& name, std::optional<int64_t>& target, IntegerRange range,
                         const std::string& description);
CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& target,
                        const std::string& description);

}  // namespace jali::cli

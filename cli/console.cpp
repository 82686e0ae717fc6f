#include "cli/console.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "io/visible_text.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

// Characters that a terminal shows for UTF-8 text.
size_t width_of(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padding(std::string_view text, size_t width) {
    const size_t used = width_of(text);
    return std::string(used < width ? width - used : 0, ' ');
}

}  // namespace

void print(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<size_t>(written));
        } else if (errno == EPIPE) {
            return;
        } else if (errno != EINTR) {
            throw FileError(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
        }
    }
}

std::string sentence_of(std::string_view message) {
    constexpr size_t kLongest = 1000;
    std::string shown;
    for (size_t begin = 0; begin <= message.size();) {
        const size_t end = std::min(message.find('\n', begin), message.size());
        shown += (begin == 0 ? "" : "\n") + io::visible(message.substr(begin, end - begin));
        begin = end + 1;
    }
    return io::shortened(shown, kLongest);
}

void warn(std::string_view sentence) {
    fmt::print(stderr, "jali: warning: {}\n", sentence_of(sentence));
}

std::string group_digits(int64_t number) {
    std::string digits = fmt::format("{}", number);
    const size_t first = number < 0 ? 1 : 0;
    for (size_t place = digits.size(); place > first + 3;) {
        place -= 3;
        digits.insert(place, ",");
    }
    return digits;
}

std::string format_bytes(int64_t bytes) {
    if (bytes < 1024) return fmt::format("{} B", bytes);
    constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_milliseconds(double milliseconds) {
    if (milliseconds >= 1000) return fmt::format("{:.2f} s", milliseconds / 1000);
    return milliseconds >= 10 ? fmt::format("{:.1f} ms", milliseconds) : fmt::format("{:.2f} ms", milliseconds);
}

std::string format_percent(double part, double whole) {
    if (whole == 0) return "-";
    const double percent = 100 * part / whole;
    if (part > 0 && percent < 0.05) return "<0.1%";
    return fmt::format("{:.1f}%", part < whole ? std::min(percent, 99.9) : percent);
}

std::string plural(int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", group_digits(count), noun, count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

std::string Rows::text() const {
    size_t width = 0;
    for (const auto& [label, value] : rows_) width = std::max(width, width_of(label));
    std::string text;
    for (const auto& [label, value] : rows_) text += fmt::format("  {}{}   {}\n", label, padding(label, width), value);
    return text;
}

std::string Columns::text() const {
    std::vector<size_t> widths(rows_.front().size(), 0);
    for (const auto& row : rows_) {
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line = "  " + row[0] + padding(row[0], widths[0]);
        for (size_t i = 1; i < row.size(); ++i) line += "   " + padding(row[i], widths[i]) + row[i];
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

int64_t peak_memory_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} * 1024;  // Linux counts KiB
}

}  // namespace jali::cli

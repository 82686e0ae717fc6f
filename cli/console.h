// What the command says: standard output for answers, standard error for everything else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jali::cli {

// The command's exit codes.
inline constexpr int kFine = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kBadInput = 2;

// Writes to standard output at once. Throws FileError where the text cannot be written; a reader that has gone
// (`jali ... | head`) is no error, and the exit code stays what it would have been.
void print(std::string_view text);
// A message as it may be shown: what came from users and files holds no control characters and does not fill a page.
std::string sentence_of(std::string_view message);
// One line "jali: warning: ..." on standard error.
void warn(std::string_view sentence);

std::string group_digits(int64_t number);                  // 1,234,567
std::string format_bytes(int64_t bytes);                   // 640 B, 2.0 KiB, 16.1 MiB
std::string format_milliseconds(double milliseconds);      // 0.84 ms, 12.3 ms, 4.21 s
std::string format_percent(double part, double whole);     // 12.3%; "-" of nothing; 0.0% and 100.0% are exact
std::string plural(int64_t count, std::string_view noun);  // 1 row, 1,280 rows

// Lines of "label   value", values starting in one column.
class Rows {
   public:
    void add(std::string label, std::string value) { rows_.emplace_back(std::move(label), std::move(value)); }
    std::string text() const;

   private:
    std::vector<std::pair<std::string, std::string>> rows_;
};

// A table with a heading, its first column to the left and the others to the right.
class Columns {
   public:
    explicit Columns(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }
    // `row` has as many cells as the heading.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    std::string text() const;

   private:
    std::vector<std::vector<std::string>> rows_;
};

// The most memory that this process has held so far.
int64_t peak_memory_bytes();

}  // namespace jali::cli

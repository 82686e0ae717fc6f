// One section of DWARF line programs, versions 2 to 5, executed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "audit/line_table.h"

namespace jali::audit {

// Where the address at an offset of the section points to; the addresses themselves are mostly 0.
struct LineRelocation {
    uint64_t offset = 0;
    uint32_t section = 0;
    uint64_t address = 0;
};

struct LineProgramInput {
    std::string_view name;  // of the section, for errors
    std::span<const uint8_t> bytes;
    std::span<const LineRelocation> relocations;     // by offset
    std::span<const uint8_t> strings, line_strings;  // .debug_str, .debug_line_str
};

struct LineProgramOutput {
    std::vector<LineRow> rows;
    std::vector<LineUnit> units;
    std::vector<LineSequence> sequences;
};

// Rows past this make a table unreadable: 16 million of them are more than the largest library has.
constexpr size_t kMostLineRows = size_t{16} << 20;

// Throws FileError: truncated, unknown version, too many rows.
LineProgramOutput run_line_programs(const LineProgramInput& input);

}  // namespace jali::audit

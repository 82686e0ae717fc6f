// The header of a DWARF line program.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "audit/byte_reader.h"
#include "audit/line_table.h"

namespace jali::audit {

struct LineHeader {
    uint16_t version = 0;
    uint8_t instruction_bytes = 1;
    int line_base = 0;
    unsigned line_range = 1;  // not 0
    unsigned first_special = 10;
    std::array<uint8_t, 256> operands{};  // of each standard operation
    std::vector<LineFile> files;
    size_t program = 0, end = 0;  // offsets in the section
};

// From where the reader stands. Throws FileError.
LineHeader read_line_header(ByteReader& reader, std::span<const uint8_t> strings,
                            std::span<const uint8_t> line_strings);

}  // namespace jali::audit

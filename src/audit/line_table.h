// Line tables of a cubin: DWARF line programs that map machine code to lines, of source (.debug_line) or of PTX
// (.nv_debug_line_sass).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/elf_image.h"
#include "jali/audit.h"

namespace jali::audit {

// From its address on, code is of this line.
struct LineRow {
    uint32_t address = 0;  // bytes from the start of the section
    uint32_t file = 0;     // index into LineUnit::files
    uint32_t line = 0;
    // Where the code was inlined: the row of the call, counted from one within the sequence; 0 not inlined. And the
    // name of the function that was, as an offset into .debug_str. (NVIDIA's extended operation 0x90.)
    uint32_t context = 0, function = 0;
};

struct LineFile {
    std::string_view folder, name;
};

struct LineUnit {
    std::vector<LineFile> files;
};

// A stretch of code of one section.
struct LineSequence {
    uint32_t section = 0;
    uint32_t begin = 0, end = 0;
    size_t first_row = 0, end_row = 0;  // by address
    size_t unit = 0;
};

class LineTable {
   public:
    LineTable() = default;
    // Of the section of that name; empty where there is none. Throws FileError.
    LineTable(const ElfImage& elf, std::string_view section_name);

    bool empty() const { return sequences_.empty(); }
    // The line of an instruction; 0 where the table does not say.
    int64_t line_at(uint32_t section, uint64_t offset) const;
    // The lines of an instruction: its own, then those where it was inlined. The name of the outermost function is not
    // in the table. Empty where the table does not say.
    std::vector<SourceLine> lines_at(uint32_t section, uint64_t offset) const;
    // The first file of the unit that describes the section's code; empty where there is none.
    std::string file_of(uint32_t section) const;

   private:
    struct Place {
        const LineRow* row = nullptr;
        const LineSequence* sequence = nullptr;
    };
    Place find(uint32_t section, uint64_t offset) const;

    std::vector<LineRow> rows_;
    std::vector<LineUnit> units_;
    std::vector<LineSequence> sequences_;  // by section, then by begin
    std::span<const uint8_t> strings_;     // .debug_str
};

}  // namespace jali::audit

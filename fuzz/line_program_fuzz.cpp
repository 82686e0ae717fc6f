// Any bytes are line programs or a FileError; rows belong to one sequence, and sequences to a unit. The first byte is
// the length of .debug_str, which follows; then comes the section.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "audit/line_program.h"
#include "jali/error.h"

namespace {

void hold(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace jali::audit;
    std::span<const uint8_t> input(data, size);
    if (input.empty()) return 0;
    const std::span<const uint8_t> strings = input.subspan(1, std::min<size_t>(input[0], input.size() - 1));
    const std::span<const uint8_t> section = input.subspan(1 + strings.size());
    std::vector<LineRelocation> relocations;
    for (uint64_t offset = 0; offset + 8 <= section.size(); offset += 64)
        relocations.push_back({.offset = offset, .section = 3, .address = offset});
    try {
        const LineProgramOutput output = run_line_programs({.name = ".debug_line",
                                                            .bytes = section,
                                                            .relocations = relocations,
                                                            .strings = strings,
                                                            .line_strings = strings});
        hold(output.rows.size() <= section.size());
        size_t next_row = 0;
        for (const LineSequence& sequence : output.sequences) {
            hold(sequence.first_row == next_row && sequence.end_row > next_row && sequence.unit < output.units.size());
            next_row = sequence.end_row;
        }
        hold(next_row == output.rows.size());
        uint64_t letters = 0;
        for (const LineUnit& unit : output.units)
            for (const LineFile& file : unit.files) letters += file.name.size() + file.folder.size();
        hold(letters <= 16384 * (size + 1));
    } catch (const jali::FileError&) {
    }
    return 0;
}

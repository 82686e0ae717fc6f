#include "audit/line_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "audit/demangle.h"
#include "audit/line_program.h"
#include "audit/short_names.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

// No compiler inlines deeper; a table may say so in a circle.
constexpr size_t kMostInlined = 64;

uint64_t word_at(std::span<const uint8_t> bytes, uint64_t offset) {
    uint64_t word = 0;
    if (offset <= bytes.size() && bytes.size() - offset >= sizeof word)
        std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

// Until sm_89 the addends stand in the section itself (.rel), from sm_90 on in the relocations (.rela).
std::vector<LineRelocation> relocations_of(const ElfImage& elf, const ElfSection& section) {
    std::vector<LineRelocation> relocations;
    const ElfSection* table = elf.section(".rela" + std::string(section.name));
    const bool has_addends = table != nullptr;
    if (!has_addends) table = elf.section(".rel" + std::string(section.name));
    if (table == nullptr) return relocations;
    const std::vector<ElfSymbol>& symbols = elf.symbols();
    const uint64_t entry_bytes = has_addends ? 24 : 16;
    for (uint64_t at = 0; at + entry_bytes <= table->bytes.size(); at += entry_bytes) {
        const uint64_t offset = word_at(table->bytes, at);
        const uint64_t symbol = word_at(table->bytes, at + 8) >> 32;
        if (symbol >= symbols.size()) continue;
        const uint64_t addend = has_addends ? word_at(table->bytes, at + 16) : word_at(section.bytes, offset);
        relocations.push_back(
            {.offset = offset, .section = symbols[symbol].section, .address = symbols[symbol].value + addend});
    }
    std::sort(relocations.begin(), relocations.end(),
              [](const LineRelocation& a, const LineRelocation& b) { return a.offset < b.offset; });
    return relocations;
}

std::span<const uint8_t> bytes_of(const ElfImage& elf, std::string_view section_name) {
    const ElfSection* section = elf.section(section_name);
    return section == nullptr ? std::span<const uint8_t>() : section->bytes;
}

// Without parameters and cut at some length: names of templates fill pages, and each spill has a copy.
std::string function_name(std::span<const uint8_t> strings, uint64_t offset) {
    constexpr size_t kMostMangled = 8192, kMostShown = 240;
    if (offset >= strings.size()) return "";
    auto rest = strings.subspan(offset);
    rest = rest.first(std::min(rest.size(), kMostMangled));
    const std::string demangled = demangle({rest.begin(), std::find(rest.begin(), rest.end(), uint8_t{0})});
    std::string_view shown = without_signature(demangled);
    return shown.size() <= kMostShown ? std::string(shown) : std::string(shown.substr(0, kMostShown)) + "...";
}

std::string path_of(const LineFile& file) {
    if (file.folder.empty() || file.name.substr(0, 1) == "/") return std::string(file.name);
    return fmt::format("{}/{}", file.folder, file.name);
}

}  // namespace

LineTable::LineTable(const ElfImage& elf, std::string_view section_name) {
    const ElfSection* section = elf.section(section_name);
    if (section == nullptr || section->bytes.empty()) return;
    const std::vector<LineRelocation> relocations = relocations_of(elf, *section);
    strings_ = bytes_of(elf, ".debug_str");
    LineProgramOutput output = run_line_programs({.name = section->name,
                                                  .bytes = section->bytes,
                                                  .relocations = relocations,
                                                  .strings = strings_,
                                                  .line_strings = bytes_of(elf, ".debug_line_str")});
    rows_ = std::move(output.rows);
    units_ = std::move(output.units);
    sequences_ = std::move(output.sequences);
    std::stable_sort(sequences_.begin(), sequences_.end(), [](const LineSequence& a, const LineSequence& b) {
        return std::tie(a.section, a.begin) < std::tie(b.section, b.begin);
    });
}

LineTable::Place LineTable::find(uint32_t section, uint64_t offset) const {
    const auto after = std::upper_bound(
        sequences_.begin(), sequences_.end(), std::pair(section, offset),
        [](const auto& key, const LineSequence& s) { return key < std::pair(s.section, uint64_t{s.begin}); });
    if (after == sequences_.begin()) return {};
    const LineSequence& sequence = *std::prev(after);
    if (sequence.section != section || offset >= sequence.end) return {};
    const auto first = rows_.begin() + static_cast<int64_t>(sequence.first_row);
    const auto last = rows_.begin() + static_cast<int64_t>(sequence.end_row);
    const auto next =
        std::upper_bound(first, last, offset, [](uint64_t key, const LineRow& row) { return key < row.address; });
    if (next == first) return {};
    return {&*std::prev(next), &sequence};
}

int64_t LineTable::line_at(uint32_t section, uint64_t offset) const {
    const Place place = find(section, offset);
    return place.row == nullptr ? 0 : place.row->line;
}

std::vector<SourceLine> LineTable::lines_at(uint32_t section, uint64_t offset) const {
    std::vector<SourceLine> lines;
    const auto [found, sequence] = find(section, offset);
    for (const LineRow* row = found; row != nullptr && lines.size() < kMostInlined;) {
        SourceLine& line = lines.emplace_back();
        const std::vector<LineFile>& files = units_[sequence->unit].files;
        if (row->file < files.size()) line.file = path_of(files[row->file]);
        line.line = row->line;
        if (row->context == 0 || row->context > sequence->end_row - sequence->first_row) break;
        line.function = function_name(strings_, row->function);
        row = &rows_[sequence->first_row + row->context - 1];
    }
    return lines;
}

std::string LineTable::file_of(uint32_t section) const {
    for (const LineSequence& sequence : sequences_) {
        if (sequence.section != section) continue;
        const std::vector<LineFile>& files = units_[sequence.unit].files;
        return files.empty() ? "" : path_of(files.front());
    }
    return "";
}

}  // namespace jali::audit

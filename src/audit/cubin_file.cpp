#include "audit/cubin_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "audit/cubin_arch.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr uint16_t kCudaMachine = 190;
constexpr uint8_t kFunction = 2;      // STT_FUNC
constexpr uint8_t kEntryFlag = 0x10;  // of a symbol's `other`
constexpr std::string_view kText = ".text.", kInfo = ".nv.info.";

// Sections of a real cubin do not overlap. A hostile one that lets ten thousand name the same megabyte is refused
// before each is read.
void check_sections(const ElfImage& elf, size_t file_bytes) {
    uint64_t sum = 0;
    for (const ElfSection& section : elf.sections()) sum += section.bytes.size();
    if (sum > 2 * uint64_t{file_bytes})
        throw FileError(fmt::format("ELF sections take {} bytes of a file of {}", sum, file_bytes));
}

}  // namespace

CubinFile::CubinFile(std::span<const uint8_t> bytes) : elf_(bytes), file_bytes_(bytes.size()) {
    if (elf_.machine() != kCudaMachine)
        throw FileError(fmt::format("ELF machine at offset 18 is {}, not {} (CUDA)", elf_.machine(), kCudaMachine));
    check_sections(elf_, file_bytes_);
    notes_ = read_notes(elf_);
    arch_ = arch_of(elf_, notes_);
    read_functions();
    read_facts();
}

void CubinFile::read_functions() {
    const std::vector<ElfSection>& sections = elf_.sections();
    for (const ElfSymbol& symbol : elf_.symbols()) {
        if (symbol.type != kFunction || symbol.section == 0 || symbol.section >= sections.size()) continue;
        const ElfSection& section = sections[symbol.section];
        if (section.name.substr(0, kText.size()) != kText) continue;
        if (symbol.value > section.bytes.size() || symbol.size > section.bytes.size() - symbol.value)
            throw FileError(fmt::format("ELF symbol {} has {} bytes at {} of a section of {} at offset {}",
                                        symbol.index, symbol.size, symbol.value, section.bytes.size(),
                                        section.file_offset));
        functions_.push_back({.name = symbol.name,
                              .symbol = symbol.index,
                              .is_entry = (symbol.other & kEntryFlag) != 0,
                              .section = &section,
                              .begin = symbol.value,
                              .code = section.bytes.subspan(symbol.value, symbol.size)});
    }
    uint64_t code_bytes = 0;
    for (const CubinFunction& function : functions_) code_bytes += function.code.size();
    // An entry's symbol spans the copies behind it too; more than that overlaps in no real file.
    if (code_bytes > 4 * uint64_t{file_bytes_})
        throw FileError(fmt::format("ELF functions take {} bytes of a file of {}", code_bytes, file_bytes_));
    std::stable_sort(functions_.begin(), functions_.end(), [](const CubinFunction& a, const CubinFunction& b) {
        return std::pair(a.section->index, a.begin) < std::pair(b.section->index, b.begin);
    });
    for (size_t i = 0; i < functions_.size(); ++i) {
        CubinFunction& entry = functions_[i];
        if (!entry.is_entry) continue;
        for (size_t j = i + 1; j < functions_.size() && functions_[j].section == entry.section; ++j) {
            if (functions_[j].is_entry || functions_[j].begin == entry.begin) break;
            if (entry.copies.empty())
                entry.code = entry.code.first(std::min(entry.code.size(), functions_[j].begin - entry.begin));
            entry.copies.push_back(j);
        }
    }
}

void CubinFile::read_facts() {
    const ElfSection* info = elf_.section(".nv.info");
    if (info == nullptr) return;
    std::unordered_map<uint32_t, size_t> function_of_symbol;
    for (size_t i = 0; i < functions_.size(); ++i) function_of_symbol[functions_[i].symbol] = i;
    visit_nv_info(info->bytes, ".nv.info", [&](const NvRecord& record) {
        const auto found = function_of_symbol.find(record.word(0));
        if (found == function_of_symbol.end()) return;
        CubinFunction& function = functions_[found->second];
        if (record.is(NvAttribute::kRegisters)) function.registers = record.word(1);
        if (record.is(NvAttribute::kFrameSize)) function.frame_bytes = record.word(1);
        if (record.is(NvAttribute::kMinStackSize)) function.min_stack_bytes = record.word(1);
    });
}

const CodeInfo& CubinFile::info_of(const ElfSection& text) {
    const ElfSection* info = elf_.section(std::string(kInfo) + std::string(text.name.substr(kText.size())));
    const auto [entry, is_new] = infos_.try_emplace(info);
    if (is_new && info != nullptr) entry->second = read_code_info(info->bytes, info->name);
    return entry->second;
}

}  // namespace jali::audit

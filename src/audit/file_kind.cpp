#include "audit/file_kind.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "audit/fat_binary.h"

namespace jali::audit {
namespace {

constexpr size_t kMachineOffset = 18;
constexpr uint16_t kCudaMachine = 190;

// Past white space and comments. Nothing where a comment has no end in what there is of the text.
std::string_view without_leading_comments(std::string_view text) {
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\f\v"), text.size()));
        std::string_view end;
        if (text.starts_with("//"))
            end = "\n";
        else if (text.starts_with("/*"))
            end = "*/";
        else
            return text;
        const size_t found = text.find(end, 2);
        if (found == std::string_view::npos) return {};
        text.remove_prefix(found + end.size());
    }
}

FileKind kind_of_elf(std::span<const uint8_t> beginning) {
    if (beginning[EI_CLASS] != ELFCLASS64 || beginning[EI_DATA] != ELFDATA2LSB) return FileKind::kUnknown;
    uint16_t machine = 0;
    std::memcpy(&machine, beginning.data() + kMachineOffset, sizeof machine);
    return machine == kCudaMachine ? FileKind::kCubin : FileKind::kHostElf;
}

}  // namespace

FileKind kind_of(std::span<const uint8_t> beginning) {
    const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
    if (text.starts_with(std::string_view(ELFMAG, SELFMAG)) && text.size() >= kMachineOffset + sizeof(uint16_t))
        return kind_of_elf(beginning);
    if (looks_like_fat_binary(beginning)) return FileKind::kFatBinary;
    if (text.starts_with("!<arch>\n") || text.starts_with("!<thin>\n")) return FileKind::kArchive;
    if (text.starts_with("PK\003\004") || text.starts_with("PK\005\006")) return FileKind::kZip;
    if (without_leading_comments(text.substr(0, kKindBytes)).starts_with(".version")) return FileKind::kPtx;
    return FileKind::kUnknown;
}

}  // namespace jali::audit

#include "audit/cubin_arch.h"

#include <fmt/format.h>

#include <cctype>

#include "audit/nv_info.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

// From OS/ABI 0x41 on (all of CUDA 13, and Blackwell in CUDA 12.8 and 12.9) e_flags hold the architecture in bits 8 to
// 15; before, in bits 0 to 7. The bit of "a" targets moved with it, and CUDA 13 leaves it 0.
constexpr uint8_t kNewAbi = 0x41;
constexpr uint32_t kNewAccelerated = 0x8, kOldAccelerated = 0x800;
constexpr uint8_t kCompatAccelerated = 0x09;  // attribute of .nv.compat: 1 for "a"

// "-arch sm_100f" or "--gpu-name=sm_100f": what stands behind "sm_100", where it is one letter.
std::string suffix_in(const std::string& options, const std::string& arch) {
    for (size_t at = options.find(arch); at != std::string::npos; at = options.find(arch, at + 1)) {
        const size_t end = at + arch.size();
        if (end == options.size() || std::isalnum(static_cast<unsigned char>(options[end])) == 0) return "";
        const bool one_letter =
            end + 1 == options.size() || std::isalnum(static_cast<unsigned char>(options[end + 1])) == 0;
        if (one_letter && (options[end] == 'a' || options[end] == 'f')) return {options[end]};
    }
    return "";
}

bool compat_says_accelerated(const ElfImage& elf) {
    const ElfSection* compat = elf.section(".nv.compat");
    if (compat == nullptr) return false;
    bool accelerated = false;
    visit_nv_info(compat->bytes, ".nv.compat", [&](const NvRecord& record) {
        if (record.attribute == kCompatAccelerated) accelerated = record.value == 1;
    });
    return accelerated;
}

}  // namespace

std::string arch_of(const ElfImage& elf, const CubinNotes& notes) {
    const uint32_t flags = elf.flags();
    const bool is_new = elf.os_abi() == kNewAbi;
    const uint32_t number = (is_new ? flags >> 8 : flags) & 0xff;
    if (number < 10) throw FileError(fmt::format("ELF flags {:#010x} at offset 48 name no architecture", flags));
    const std::string arch = fmt::format("sm_{}", number);
    const bool accelerated = (flags & (is_new ? kNewAccelerated : kOldAccelerated)) != 0;
    if (accelerated || compat_says_accelerated(elf)) return arch + "a";
    return arch + suffix_in(notes.options, arch);
}

}  // namespace jali::audit

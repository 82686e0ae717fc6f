// An ELF file in memory: its sections and symbols, checked.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jali::audit {

struct ElfSection {
    std::string_view name;
    uint32_t index = 0;
    uint32_t type = 0, link = 0, info = 0;
    uint64_t flags = 0;
    uint64_t file_offset = 0;
    std::span<const uint8_t> bytes;  // empty where it has none in the file: SHT_NOBITS, shared memory
    uint64_t size = 0;               // also of those
};

struct ElfSymbol {
    std::string_view name;
    uint32_t index = 0;
    uint8_t type = 0, binding = 0, other = 0;
    uint32_t section = 0;
    uint64_t value = 0, size = 0;
};

class ElfImage {
   public:
    // `bytes` must outlive the image. Throws FileError: no ELF, 32 bits, truncated, sections past the end.
    explicit ElfImage(std::span<const uint8_t> bytes);
    ~ElfImage();
    ElfImage(ElfImage&&) noexcept;
    ElfImage& operator=(ElfImage&&) noexcept;

    uint16_t machine() const;  // 190: CUDA
    uint16_t type() const;
    uint32_t flags() const;
    uint8_t os_abi() const;
    uint8_t abi_version() const;
    uint64_t extent()
        const;  // bytes up to the end of the last thing that its headers name: less than all where more follows
    const std::vector<ElfSection>& sections() const;
    const ElfSection* section(std::string_view name) const;  // the first of the name; null where there is none
    // Of .symtab, or of .dynsym where there is none; read at the first call, so by one thread. Throws FileError.
    const std::vector<ElfSymbol>& symbols() const;

   private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace jali::audit

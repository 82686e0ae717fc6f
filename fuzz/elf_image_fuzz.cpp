// Any bytes are an ELF file or a FileError; what it names lies inside of the input, and what is looked through for
// device code is looked through once.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "audit/elf_image.h"
#include "audit/embedded.h"
#include "jali/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace jali::audit;
    const std::span<const uint8_t> input(data, size);
    try {
        const ElfImage image(input);
        if (image.extent() > size) std::abort();
        for (const ElfSection& section : image.sections()) {
            if (section.bytes.empty()) continue;
            if (section.bytes.data() != data + section.file_offset || section.bytes.size() != section.size)
                std::abort();
            if (section.file_offset + section.size > size) std::abort();
            const ElfSection* named = image.section(section.name);
            if (named == nullptr || named->name != section.name) std::abort();
        }
        uint64_t done = 0;
        for (const ScanRange& range : device_code_ranges(input)) {
            if (range.begin < done || range.end <= range.begin || range.end > size) std::abort();
            done = range.end;
        }
        uint64_t letters = 0;
        for (const ElfSymbol& symbol : image.symbols()) letters += symbol.name.size();
        if (letters > 16 * size) std::abort();
    } catch (const jali::FileError&) {
    }
    return 0;
}

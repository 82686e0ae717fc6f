// ELF files in memory: what they hold, and a sentence for each way to be wrong.
#include "audit/elf_image.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "audit/carriers.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

using jali::test::message_of;

constexpr size_t kTypeOffset = 4, kFileOffset = 24, kSizeOffset = 32;  // in a section header

std::string refusal(const Bytes& bytes) {
    return message_of<FileError>([&] { (void)ElfImage(bytes).symbols(); });
}

Elf64_Sym symbol(uint32_t name, uint8_t type, uint16_t section, uint64_t value, uint64_t size) {
    return {.st_name = name,
            .st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, type)),
            .st_other = 16,
            .st_shndx = section,
            .st_value = value,
            .st_size = size};
}

Bytes table_of(const std::vector<Elf64_Sym>& symbols) {
    const auto* begin = reinterpret_cast<const uint8_t*>(symbols.data());
    return {begin, begin + symbols.size() * sizeof(Elf64_Sym)};
}

// Sections: 1 names, 2 .text.k, 3 .strtab, 4 .symtab.
Bytes with_symbols(const std::vector<Elf64_Sym>& symbols, const Bytes& extra = {}) {
    Bytes table = table_of(symbols);
    table.insert(table.end(), extra.begin(), extra.end());
    return elf(kCudaMachine, {{.name = ".text.k", .bytes = Bytes(32)},
                              {.name = ".strtab", .bytes = bytes_of({"\0k\0", 3}), .type = SHT_STRTAB},
                              {.name = ".symtab", .bytes = table, .type = SHT_SYMTAB, .link = 3}});
}

TEST(ElfImage, HasSectionsWithNamesBytesAndOffsets) {
    const Bytes bytes = elf(kCudaMachine, {{.name = ".text.k", .bytes = bytes_of("instructions")},
                                           {.name = ".nv.info", .bytes = bytes_of("info"), .type = 0x70000000}});
    const ElfImage image(bytes);
    EXPECT_EQ(image.machine(), 190);
    ASSERT_EQ(image.sections().size(), 4U);
    const ElfSection* info = image.section(".nv.info");
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->index, 3U);
    EXPECT_EQ(info->type, 0x70000000U);
    EXPECT_EQ(std::string(info->bytes.begin(), info->bytes.end()), "info");
    EXPECT_EQ(info->bytes.data(), bytes.data() + info->file_offset);
    EXPECT_EQ(image.section(".nv.infos"), nullptr);
}

TEST(ElfImage, ReadsAtAnyAddress) {
    Bytes shifted = {0};
    const Bytes bytes = with_symbols({{}, symbol(1, STT_FUNC, 2, 0, 32)});
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    const ElfImage image(std::span<const uint8_t>(shifted).subspan(1));
    EXPECT_EQ(image.section(".text.k")->bytes.size(), 32U);
    EXPECT_EQ(image.symbols().at(1).name, "k");
}

TEST(ElfImage, HasSymbolsWithTheirSection) {
    const Bytes bytes = with_symbols({{}, symbol(1, STT_FUNC, 2, 16, 8)});
    const ElfImage image(bytes);
    ASSERT_EQ(image.symbols().size(), 2U);
    const ElfSymbol& k = image.symbols()[1];
    EXPECT_EQ(k.name, "k");
    EXPECT_EQ(k.type, STT_FUNC);
    EXPECT_EQ(k.binding, STB_GLOBAL);
    EXPECT_EQ(k.other, 16);
    EXPECT_EQ(k.section, 2U);
    EXPECT_EQ(k.value, 16U);
    EXPECT_EQ(k.size, 8U);
}

TEST(ElfImage, FindsSectionsPast65279OfSymbols) {
    Bytes far(8);
    put(far, 4, uint32_t{70000});
    const Bytes bytes =
        elf(kCudaMachine, {{.name = ".strtab", .bytes = bytes_of({"\0k\0", 3}), .type = SHT_STRTAB},
                           {.name = ".symtab",
                            .bytes = table_of({{}, symbol(1, STT_FUNC, SHN_XINDEX, 0, 0)}),
                            .type = SHT_SYMTAB,
                            .link = 2},
                           {.name = ".symtab_shndx", .bytes = far, .type = SHT_SYMTAB_SHNDX, .link = 3}});
    EXPECT_EQ(ElfImage(bytes).symbols().at(1).section, 70000U);
    EXPECT_EQ(refusal(with_symbols({{}, symbol(1, STT_FUNC, SHN_XINDEX, 0, 0)})),
              "ELF symbol 1 at offset 168 has a section index that is not in the file");
}

TEST(ElfImage, TakesNoBytesForSharedMemory) {
    for (const uint32_t type : {uint32_t{SHT_NOBITS}, 0x7000000aU, 0x70000015U, 0x7000007dU}) {
        const Bytes bytes = elf(kCudaMachine, {{.name = ".nv.shared.k", .type = type, .memory_bytes = 99999}});
        const ElfImage image(bytes);
        EXPECT_TRUE(image.section(".nv.shared.k")->bytes.empty());
        EXPECT_EQ(image.section(".nv.shared.k")->size, 99999U);
    }
}

TEST(ElfImage, EndsWithTheLastThingThatItsHeadersName) {
    Bytes bytes = cubin();
    const size_t size = bytes.size();
    bytes.resize(size + 1000);
    EXPECT_EQ(ElfImage(bytes).extent(), size);
}

TEST(ElfImage, RefusesWhatIsNoElf) {
    EXPECT_EQ(refusal(bytes_of("\177ELF")), "ELF file ends after 4 of the 64 bytes of its header");
    EXPECT_EQ(refusal(Bytes(64)), "ELF magic is not at offset 0");
    Bytes bytes = cubin();
    bytes[EI_CLASS] = ELFCLASS32;
    EXPECT_EQ(refusal(bytes), "ELF class at offset 4 is 1, not 2 (64 bits)");
    bytes = cubin();
    bytes[EI_DATA] = ELFDATA2MSB;
    EXPECT_EQ(refusal(bytes), "ELF byte order at offset 5 is 2, not 1 (little)");
}

TEST(ElfImage, RefusesSectionHeadersOutsideOfTheFile) {
    Bytes bytes = cubin();
    const size_t headers = section_header_offset(bytes, 0);
    Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(headers + 100));
    EXPECT_EQ(refusal(cut), "ELF file ends at " + std::to_string(cut.size()) +
                                " within its 3 section headers at offset " + std::to_string(headers));
    cut.resize(headers + 63);
    EXPECT_EQ(refusal(cut), "ELF section headers begin at offset " + std::to_string(headers) + " of " +
                                std::to_string(cut.size()) + " bytes");
    put(bytes, 40, uint64_t{1} << 60);
    EXPECT_EQ(refusal(bytes),
              "ELF section headers begin at offset 1152921504606846976 of " + std::to_string(bytes.size()) + " bytes");
    bytes = cubin();
    put(bytes, 58, uint16_t{40});
    EXPECT_EQ(refusal(bytes),
              "ELF section headers at offset " + std::to_string(headers) + " take 40 bytes each, not 64");
}

TEST(ElfImage, RefusesSectionsPastTheEnd) {
    for (const uint64_t size : {uint64_t{1} << 40, std::numeric_limits<uint64_t>::max()}) {
        Bytes bytes = cubin();
        put(bytes, section_header_offset(bytes, 2) + kSizeOffset, size);
        EXPECT_EQ(refusal(bytes), "ELF section 2 of " + std::to_string(size) +
                                      " bytes at offset 88 passes the end at " + std::to_string(bytes.size()));
    }
    Bytes bytes = cubin();
    put(bytes, section_header_offset(bytes, 2) + kFileOffset, std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(refusal(bytes), "ELF section 2 of 4 bytes at offset 18446744073709551615 passes the end at " +
                                  std::to_string(bytes.size()));
}

TEST(ElfImage, RefusesNamesOutsideOfTheirTable) {
    Bytes bytes = cubin();
    put(bytes, section_header_offset(bytes, 2), uint32_t{1000});
    EXPECT_EQ(refusal(bytes), "ELF file has no text at offset 1000 of section 1");
    EXPECT_EQ(refusal(with_symbols({{}, symbol(77, STT_FUNC, 2, 0, 0)})),
              "ELF file has no text at offset 77 of section 3");
    // The names of the sections are no table of names.
    bytes = cubin();
    put(bytes, section_header_offset(bytes, 1) + kTypeOffset, uint32_t{SHT_PROGBITS});
    EXPECT_EQ(refusal(bytes), "ELF file has no text at offset 1 of section 1");
}

TEST(ElfImage, RefusesHalfASymbol) {
    EXPECT_EQ(refusal(with_symbols({{}}, Bytes(7))), "ELF symbol table at offset 144 has 31 bytes, no multiple of 24");
}

TEST(ElfImage, RefusesOneLongNameUsedWithoutEnd) {
    const std::string name(20000, 'n');
    std::vector<Elf64_Sym> symbols(1000, symbol(1, STT_FUNC, 2, 0, 0));
    const Bytes bytes = elf(
        kCudaMachine,
        {{.name = ".strtab", .bytes = bytes_of(std::string("\0", 1) + name + std::string("\0", 1)), .type = SHT_STRTAB},
         {.name = ".symtab", .bytes = table_of(symbols), .type = SHT_SYMTAB, .link = 2}});
    EXPECT_EQ(refusal(bytes), "ELF names at offset 1 of section 2 take over 16 times the file");
}

}  // namespace
}  // namespace jali::audit::test

// Device code inside of host objects, libraries and unknown files.
#include "audit/embedded.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/carriers.h"

namespace jali::audit::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Bytes fat(std::string_view content) {
    return fat_binary({{.bytes = cubin(content)}});
}

TEST(HostElf, HasFatBinariesInTheirSections) {
    const Bytes bytes = elf(kX86Machine, {{.name = ".nv_fatbin", .bytes = joined({fat("one"), Bytes(8), fat("two")})},
                                          {.name = "__nv_relfatbin", .bytes = fat("three")}});
    const Found it = found_in(bytes, "lib.so");
    EXPECT_THAT(it.origins(), ElementsAre("lib.so!fatbin 1", "lib.so!fatbin 2", "lib.so!fatbin 3"));
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(HostElf, HasThemInAnyDataAtAnyOffset) {
    const Bytes bytes = elf(
        kX86Machine, {{.name = ".rodata",
                       .bytes = joined({bytes_of("abc"), fat("one"), bytes_of("PK"), cubin("bare"), bytes_of("x")})},
                      {.name = ".data", .bytes = joined({Bytes(5), fat("two")})}});
    const Found it = found_in(bytes, "lib.so");
    EXPECT_THAT(it.origins(), ElementsAre("lib.so!fatbin 1", "lib.so!cubin 1", "lib.so!fatbin 2"));
    EXPECT_EQ(it.images[1].bytes.size(), cubin("bare").size());
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(HostElf, MachineCodeThatHoldsTheMagicIsNoFatBinary) {
    const Bytes bytes = elf(kX86Machine, {{.name = ".text", .bytes = fat("one"), .flags = SHF_ALLOC | SHF_EXECINSTR}});
    const Found it = found_in(bytes, "lib.so");
    EXPECT_THAT(it.images, IsEmpty());
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(HostElf, ChanceIsAProblemOnlyWhereDeviceCodeIsMeantToBe) {
    Bytes wrong = fat("one");
    put(wrong, 4, uint16_t{9});
    put(wrong, kContainerHeader + kEntryHeader, uint32_t{0});  // nor is the cubin one
    EXPECT_THAT(found_in(elf(kX86Machine, {{.name = ".rodata", .bytes = wrong}}), "lib.so").problems, IsEmpty());
    EXPECT_THAT(found_in(elf(kX86Machine, {{.name = ".nv_fatbin", .bytes = wrong}}), "lib.so").problems,
                ElementsAre("lib.so!fatbin 1: fat binary at offset 88 has version 9, not 1"));
}

TEST(HostElf, AWrongSectionTableDoesNotHideDeviceCode) {
    Bytes bytes = elf(kX86Machine, {{.name = ".nv_fatbin", .bytes = fat("one")}});
    put(bytes, section_header_offset(bytes, 2) + 32, UINT64_MAX);
    const Found it = found_in(bytes, "lib.so");
    EXPECT_EQ(it.images.size(), 1U);
    EXPECT_THAT(it.problems, ElementsAre("lib.so: ELF section 2 of 18446744073709551615 bytes at offset 88 passes the "
                                         "end at " +
                                         std::to_string(bytes.size())));
}

TEST(HostElf, WithoutASectionTableIsLookedThroughWhole) {
    Bytes bytes = elf(kX86Machine, {{.name = ".nv_fatbin", .bytes = fat("one")}});
    put(bytes, 40, uint64_t{0});
    put(bytes, 60, uint16_t{0});
    put(bytes, 62, uint16_t{0});
    const Found it = found_in(bytes, "lib.so");
    EXPECT_EQ(it.images.size(), 1U);
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(HostElf, SectionsOverTheSameBytesAreLookedThroughOnce) {
    Bytes bytes = elf(kX86Machine, {{.name = ".a", .bytes = fat("one")}, {.name = ".b", .bytes = Bytes(8)}});
    put(bytes, section_header_offset(bytes, 3) + 24, uint64_t{80});
    put(bytes, section_header_offset(bytes, 3) + 32, uint64_t{bytes.size() - 80});
    EXPECT_EQ(found_in(bytes, "lib.so").images.size(), 1U);
    const std::vector<ScanRange> ranges = device_code_ranges(bytes);
    for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].end, ranges[i].begin);
}

TEST(HostElf, ABareCubinThatIsCutIsAProblem) {
    Bytes cut = cubin("bare");
    cut.resize(cut.size() - 1);
    const Found it = found_in(joined({bytes_of("unknown file"), cut}), "dump.bin");
    EXPECT_THAT(it.images, IsEmpty());
    ASSERT_EQ(it.problems.size(), 2U);
    EXPECT_THAT(it.problems[0], testing::StartsWith("dump.bin!cubin 1: cubin at offset 12: ELF "));
}

}  // namespace
}  // namespace jali::audit::test

// Fat binaries: their entries of both kinds, packed in every way, and what is wrong with them.
#include "audit/fat_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "audit/carriers.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kPtx = ".version 9.0\n.target sm_90a\n.address_size 64\n";

Entry ptx_entry() {
    return {.kind = 1, .bytes = bytes_of(kPtx + std::string("\0", 1)), .options = " --generate-line-info "};
}
Entry cubin_entry(std::string_view content) {
    return {.bytes = cubin(content)};
}

Found found(const Bytes& bytes) {
    return found_in(bytes, "k.fatbin");
}

// Two cubins: container 0..16, entry 16, its bytes from 80 on.
Bytes two_cubins() {
    return fat_binary({cubin_entry("one"), cubin_entry("two")});
}
size_t second_entry() {
    return kContainerHeader + kEntryHeader + cubin("one").size();
}

TEST(FatBinary, HoldsPtxAndCubins) {
    const Found it = found(fat_binary({ptx_entry(), cubin_entry("one")}));
    EXPECT_THAT(it.problems, IsEmpty());
    ASSERT_EQ(it.images.size(), 2U);
    EXPECT_EQ(it.images[0].kind, ImageKind::kPtx);
    EXPECT_EQ(it.texts()[0], kPtx);  // without the NUL and the padding
    EXPECT_EQ(it.images[0].options, "--generate-line-info");
    EXPECT_EQ(it.images[0].origin, "k.fatbin!fatbin 1");
    EXPECT_EQ(it.images[1].kind, ImageKind::kCubin);
    EXPECT_EQ(Bytes(it.images[1].bytes.begin(), it.images[1].bytes.end()), cubin("one"));
}

TEST(FatBinary, UnpacksLz4AndZstd) {
    const Bytes content = cubin(std::string(100000, 'x'));
    for (const Packing packing : {Packing::kLz4, Packing::kZstd}) {
        const Found it = found(fat_binary({{.bytes = content, .packing = packing}, ptx_entry()}));
        EXPECT_THAT(it.problems, IsEmpty());
        ASSERT_EQ(it.images.size(), 2U);
        EXPECT_EQ(Bytes(it.images[0].bytes.begin(), it.images[0].bytes.end()), content);
    }
}

TEST(FatBinary, NamesTheArchitectureOfAnEntry) {
    const Bytes code = cubin();
    const Found it =
        found(fat_binary({{.arch = 80, .bytes = code},
                          {.arch = 90, .flags = 0x11 | kArchSpecific, .bytes = code},
                          {.arch = 100, .flags = 0x1000011 | kArchSpecific | kFamilySpecific, .bytes = code}}));
    ASSERT_EQ(it.images.size(), 3U);
    EXPECT_EQ(it.images[0].arch, "sm_80");
    EXPECT_EQ(it.images[1].arch, "sm_90a");
    EXPECT_EQ(it.images[2].arch, "sm_100f");
}

TEST(FatBinary, CountsEntriesThatAreNeither) {
    const Found it = found(fat_binary({{.kind = 8, .bytes = bytes_of("link-time code")}, cubin_entry("one")}));
    EXPECT_THAT(it.problems, IsEmpty());
    EXPECT_EQ(it.others, 1);
    EXPECT_EQ(it.images.size(), 1U);
}

TEST(FatBinary, MayBeEmptyAndMayFollowOthers) {
    const Found it =
        found(joined({fat_binary({}), Bytes(24), two_cubins(), Bytes(3), fat_binary({cubin_entry("three")})}));
    EXPECT_THAT(it.problems, IsEmpty());
    EXPECT_THAT(it.origins(), ElementsAre("k.fatbin!fatbin 2", "k.fatbin!fatbin 2", "k.fatbin!fatbin 3"));
}

TEST(FatBinary, GivesWhatComesBeforeItIsCut) {
    const Bytes whole = two_cubins();
    const Bytes cut(whole.begin(), whole.end() - 8);
    const std::string at = std::to_string(second_entry()), size = std::to_string(cubin("two").size());
    Found it = found(cut);
    EXPECT_EQ(it.images.size(), 1U);
    ASSERT_EQ(it.problems.size(), 3U);
    // The piece of a cubin is found by its own magic too.
    EXPECT_THAT(it.problems.back(), testing::StartsWith("k.fatbin!cubin 1: cubin at offset "));
    it.problems.pop_back();
    EXPECT_THAT(it.problems,
                ElementsAre("k.fatbin!fatbin 1: fat binary at offset 0 says " + std::to_string(whole.size() - 16) +
                                " bytes of entries and " + std::to_string(cut.size() - 16) + " are left",
                            "k.fatbin!fatbin 1: entry of a fat binary at offset " + at + " says 64 + " + size +
                                " bytes and " + std::to_string(cut.size() - second_entry()) + " are left"));
}

TEST(FatBinary, IsRefusedAtEveryLengthWithoutLosingWhatIsWhole) {
    const Bytes whole = fat_binary({{.bytes = cubin(), .packing = Packing::kZstd}, ptx_entry()});
    for (size_t size = kContainerHeader + kEntryHeader; size < whole.size(); ++size) {
        const Found it = found({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
        EXPECT_FALSE(it.problems.empty()) << size;
        EXPECT_LE(it.images.size(), 1U) << size;
    }
}

TEST(FatBinary, RefusesAnEntryOfAnotherVersion) {
    Bytes bytes = two_cubins();
    put(bytes, second_entry() + 2, uint16_t{0x0202});
    const Found it = found(bytes);
    // The second is still found by its own magic.
    EXPECT_THAT(it.origins(), ElementsAre("k.fatbin!fatbin 1", "k.fatbin!cubin 1"));
    EXPECT_THAT(it.problems, ElementsAre("k.fatbin!fatbin 1: entry of a fat binary at offset " +
                                         std::to_string(second_entry()) + " has version 0x202, not 0x101"));
}

TEST(FatBinary, RefusesSizesThatPassTheEnd) {
    Bytes bytes = fat_binary({ptx_entry()});
    put(bytes, 16 + 8, UINT64_MAX);
    const size_t header = kEntryHeader + 8 + 24;
    EXPECT_THAT(found(bytes).problems,
                ElementsAre("k.fatbin!fatbin 1: entry of a fat binary at offset 16 says " + std::to_string(header) +
                            " + 18446744073709551615 bytes and " + std::to_string(bytes.size() - 16) + " are left"));
    put(bytes, 16 + 4, uint32_t{63});
    EXPECT_THAT(found(bytes).problems,
                ElementsAre("k.fatbin!fatbin 1: entry of a fat binary at offset 16 has a header of 63 bytes"));
}

TEST(FatBinary, GoesOnPastAnEntryThatIsWrongByItself) {
    Bytes bytes = fat_binary({ptx_entry(), cubin_entry("one")});
    put(bytes, 16 + 20, uint32_t{5000});
    Found it = found(bytes);
    EXPECT_EQ(it.images.size(), 1U);
    EXPECT_THAT(it.problems, ElementsAre("k.fatbin!fatbin 1: entry of a fat binary at offset 16 has its options at its "
                                         "byte 5000 of 96"));
    bytes = fat_binary({{.bytes = cubin(), .packing = Packing::kLz4}, cubin_entry("one")});
    put(bytes, 16 + 16, uint32_t{99999});
    it = found(bytes);
    EXPECT_EQ(it.images.size(), 1U);
    ASSERT_EQ(it.problems.size(), 1U);
    EXPECT_THAT(it.problems[0], testing::StartsWith("k.fatbin!fatbin 1: entry of a fat binary at offset 16 says 99999 "
                                                    "bytes compressed of "));
    bytes = fat_binary({{.bytes = cubin(), .packing = Packing::kLz4}, cubin_entry("one")});
    put(bytes, 16 + 40, uint64_t{0x4011});
    EXPECT_THAT(found(bytes).problems,
                ElementsAre("k.fatbin!fatbin 1: entry of a fat binary at offset 16 is compressed "
                            "in an unknown way (flags 0x4011)"));
}

TEST(FatBinary, IsGivenUpWhenFullOfProblems) {
    std::vector<Bytes> many(5000, fat_binary({}));
    for (Bytes& one : many) put(one, 4, uint16_t{7});
    many.front() = fat_binary({});
    const Found it = found(joined(many));
    ASSERT_EQ(it.problems.size(), 101U);
    EXPECT_EQ(it.problems[0], "k.fatbin!fatbin 2: fat binary at offset 16 has version 7, not 1");
    EXPECT_EQ(it.problems[100], "k.fatbin: 100 problems up to offset 1604; the rest is not looked at");
}

// --- Unpacking ---

PackedImage packed(const Bytes& stored, Compression compression, uint64_t unpacked_bytes) {
    PackedImage image;
    image.image.bytes = stored;
    image.compression = compression;
    image.unpacked_bytes = unpacked_bytes;
    image.carrier_offset = 48;
    return image;
}

std::string refusal(const Bytes& stored, Compression compression, uint64_t unpacked_bytes) {
    return jali::test::message_of<FileError>([&] { unpack(packed(stored, compression, unpacked_bytes)); });
}

// zstd's frame of 5 bytes "aaaaa", and LZ4's block of the same.
const Bytes kZstdFrame = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x2b, 0x00, 0x00, 'a'};
const Bytes kLz4Block = {0x50, 'a', 'a', 'a', 'a', 'a'};

TEST(Unpack, GivesTheBytes) {
    const Image zstd = unpack(packed(kZstdFrame, Compression::kZstd, 5));
    EXPECT_EQ(std::string(zstd.bytes.begin(), zstd.bytes.end()), "aaaaa");
    const Image lz4 = unpack(packed(kLz4Block, Compression::kLz4, 5));
    EXPECT_EQ(std::string(lz4.bytes.begin(), lz4.bytes.end()), "aaaaa");
}

TEST(Unpack, RefusesAnotherSizeThanTheEntrySays) {
    EXPECT_EQ(refusal(kZstdFrame, Compression::kZstd, 6),
              "zstd data of 10 bytes at offset 48 unpacks to 5 bytes, not the 6 that its entry says");
    EXPECT_EQ(refusal(kZstdFrame, Compression::kZstd, 4),
              "zstd data of 10 bytes at offset 48 does not unpack to 4 bytes: Destination buffer is too small");
    EXPECT_EQ(refusal(kLz4Block, Compression::kLz4, 6),
              "LZ4 data of 6 bytes at offset 48 unpacks to 5 bytes, not the 6 that its entry says");
    EXPECT_EQ(refusal(kLz4Block, Compression::kLz4, 4),
              "LZ4 data of 6 bytes at offset 48 is corrupt or unpacks to more than the 4 bytes that its entry says");
}

TEST(Unpack, RefusesCorruptData) {
    EXPECT_THAT(refusal(Bytes(10, 0xff), Compression::kZstd, 5),
                testing::StartsWith("zstd data of 10 bytes at offset 48 does not unpack to 5 bytes: "));
    EXPECT_THAT(refusal(Bytes(10, 0xff), Compression::kLz4, 5),
                testing::StartsWith("LZ4 data of 10 bytes at offset 48 is corrupt"));
}

TEST(Unpack, TakesNoMemoryBecauseAHeaderSaysSo) {
    EXPECT_EQ(refusal(kZstdFrame, Compression::kZstd, uint64_t{1} << 60),
              "zstd data of 10 bytes at offset 48 would unpack to 1152921504606846976 bytes, over the limit of "
              "536870912");
    EXPECT_EQ(refusal(kZstdFrame, Compression::kZstd, uint64_t{100} << 20),
              "zstd data of 10 bytes at offset 48 would unpack to 104857600 bytes, over 1000 times as many");
    EXPECT_EQ(refusal(kLz4Block, Compression::kLz4, 100000),
              "LZ4 data of 6 bytes at offset 48 cannot unpack to 100000 bytes: LZ4 gives at most 255 times as many");
}

}  // namespace
}  // namespace jali::audit::test

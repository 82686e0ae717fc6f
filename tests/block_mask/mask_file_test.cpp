#include "jali/mask_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "block_mask/mask_file_layout.h"
#include "block_mask/parts_from_bits.h"
#include "block_mask/random_masks.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali {
namespace {

using test::message_of;
using test::TemporaryFolder;
using test::write_text;
using testing::ElementsAre;
using testing::StartsWith;

// 5 queries x 4 keys, causal: one tile pair, one stencil.
BlockMask small_mask() {
    return test::mask_from_bits({test::aligned_tiles(5), test::aligned_tiles(4)},
                                [](int64_t, int64_t, int64_t q, int64_t kv) { return q >= kv; });
}

// The sections of small_mask() by hand, each number where docs/file_formats.md puts it.
struct Sections {
    int64_t batch = 1, heads = 1, q_len = 5, kv_len = 4, stencils = 1;
    int64_t q_tiles = 1, kv_tiles = 1;
    int32_t q_begin = 0, q_rows = 5, kv_begin = 0, kv_rows = 4;
    int64_t offset_0 = 0, offset_1 = 1;
    int32_t first_tile = 0, tiles = 1, stencil = 0;
    std::string tail = {};  // after the stencil

    std::vector<uint8_t> file() const {
        std::vector<uint8_t> body;
        const auto append = [&](const auto& value) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
            body.insert(body.end(), bytes, bytes + sizeof value);
        };
        for (const int64_t value : {batch, heads, q_len, kv_len, stencils, q_tiles, kv_tiles}) append(value);
        for (const int32_t value : {q_begin, q_rows, kv_begin, kv_rows}) append(value);
        for (const int64_t value : {offset_0, offset_1}) append(value);
        for (const int32_t value : {first_tile, tiles, stencil}) append(value);
        std::array<uint64_t, 256> words{};
        for (size_t row = 0; row < 5; ++row) words[2 * row] = std::min<uint64_t>((1U << (row + 1)) - 1, 15);
        append(words);
        body.insert(body.end(), tail.begin(), tail.end());
        return frame_mask_file(body);
    }
};

std::string refusal(std::span<const uint8_t> bytes) {
    return message_of<FileError>([&] { decode_mask(bytes); });
}

std::string refusal(const Sections& sections) {
    return refusal(sections.file());
}

TEST(MaskFile, RoundTripIsTheIdentity) {
    std::mt19937_64 random = test::fresh_random();
    const TemporaryFolder folder;
    for (int round = 0; round < 20; ++round) {
        const BlockMask mask = test::random_mask(random).mask;
        save_mask(mask, folder / "m.jmask");
        const BlockMask loaded = load_mask(folder / "m.jmask");
        ASSERT_TRUE(loaded == mask);
        const HeadView original = mask.head(0, 1), read = loaded.head(0, 1);
        ASSERT_TRUE(std::equal(original.column_runs.begin(), original.column_runs.end(), read.column_runs.begin(),
                               read.column_runs.end()));
        ASSERT_EQ(encode_mask(loaded), encode_mask(mask));
    }
    EXPECT_THAT(folder.names(), ElementsAre("m.jmask"));
}

TEST(MaskFile, SeveralBatchesAndHeadsWithGridsOfTheirOwn) {
    const std::vector<int32_t> documents{100, 50};
    const test::Keep keep = [](int64_t b, int64_t h, int64_t q, int64_t kv) { return q >= kv + 10 * b + h; };
    BlockMask::Parts parts = test::parts_from_bits({test::aligned_tiles(150), test::aligned_tiles(150)}, keep, 2, 3);
    const Grid anchored{test::document_tiles(documents), test::aligned_tiles(150)};
    const BlockMask::Parts other = test::parts_from_bits(anchored, keep, 2, 3);
    parts.grids[1] = anchored;  // the second batch from `other`, whose stencils go behind
    for (size_t head = 3; head < 6; ++head) {
        parts.row_offsets[head] = other.row_offsets[head];
        parts.runs[head] = other.runs[head];
        for (jali::Run& run : parts.runs[head]) {
            const Stencil& stencil = other.stencils[static_cast<size_t>(run.stencil)];
            const auto known = std::find(parts.stencils.begin(), parts.stencils.end(), stencil);
            run.stencil = static_cast<int32_t>(known - parts.stencils.begin());
            if (known == parts.stencils.end()) parts.stencils.push_back(stencil);
        }
    }
    const BlockMask mask = BlockMask::assemble(std::move(parts));
    EXPECT_TRUE(decode_mask(encode_mask(mask)) == mask);
}

TEST(MaskFile, EmptyMasks) {
    for (const auto& [q_len, kv_len] : {std::pair{0, 0}, {0, 300}, {300, 0}}) {
        const BlockMask mask = test::mask_from_bits({test::aligned_tiles(q_len), test::aligned_tiles(kv_len)}, nullptr);
        EXPECT_TRUE(decode_mask(encode_mask(mask)) == mask);
    }
}

TEST(MaskFile, TheLayoutThatTheDocumentsGive) {
    const std::vector<uint8_t> bytes = encode_mask(small_mask());
    EXPECT_EQ(bytes, Sections{}.file());
    ASSERT_EQ(bytes.size(), 40U + 40 + 16 + 16 + 16 + 12 + 2048);
    const std::string start(bytes.begin(), bytes.begin() + 24);
    EXPECT_EQ(start, std::string("\x89JMASK\r\n\x01\0\0\0\x80\0\0\0\x8c\x08\0\0\0\0\0\0", 24));
}

TEST(MaskFile, RefusesEveryTruncation) {
    const std::vector<uint8_t> whole = encode_mask(small_mask());
    const TemporaryFolder folder;
    for (size_t length = 0; length < whole.size(); ++length) {
        const auto bytes = std::span(whole).first(length);
        ASSERT_THAT(refusal(bytes),
                    StartsWith("the block mask is truncated: it has " + std::to_string(length) + " bytes, expected "))
            << length;
        ASSERT_THROW(decode_mask(frame_mask_file(bytes.subspan(std::min(length, kMaskFileHeaderBytes)))), FileError);
    }
    write_text(folder / "m.jmask", std::string(whole.begin(), whole.end() - 1));
    const std::string name = "'" + (folder / "m.jmask").string() + "'";
    EXPECT_EQ(message_of<FileError>([&] { load_mask(folder / "m.jmask"); }),
              name + " is truncated: it has 2187 bytes, expected 2188");
    write_text(folder / "m.jmask", "");
    EXPECT_EQ(message_of<FileError>([&] { load_mask(folder / "m.jmask"); }),
              name + " is truncated: it has 0 bytes, expected at least 40");
}

TEST(MaskFile, RefusesEveryFlippedBit) {
    std::vector<uint8_t> bytes = encode_mask(small_mask());
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        const auto mask = static_cast<uint8_t>(1U << (bit % 8));
        bytes[bit / 8] ^= mask;
        ASSERT_THROW(decode_mask(bytes), FileError) << "bit " << bit;
        bytes[bit / 8] ^= mask;
    }
    EXPECT_TRUE(decode_mask(bytes) == small_mask());
}

TEST(MaskFile, RefusesOtherFiles) {
    const std::string zip = "PK\x03\x04";
    EXPECT_EQ(refusal(std::vector<uint8_t>(zip.begin(), zip.end())),
              "the block mask is not a .jmask file: it begins with 50 4b 03 04, expected 89 4a 4d 41 53 4b 0d 0a");
}

TEST(MaskFile, RefusesNewerAndImpossibleVersions) {
    std::vector<uint8_t> bytes = encode_mask(small_mask());
    bytes[8] = 2;
    EXPECT_EQ(refusal(bytes),
              "the block mask has version 2 of the .jmask format, written by a newer Jali: this one reads version 1");
    bytes[8] = 0;
    EXPECT_EQ(refusal(bytes), "the block mask has version 0 of the .jmask format, expected 1");
    bytes[8] = 1;
    bytes[12] = 64;
    EXPECT_EQ(refusal(bytes), "the block mask has tiles of 64 rows, expected 128");
}

TEST(MaskFile, RefusesAlteredBytes) {
    std::vector<uint8_t> bytes = encode_mask(small_mask());
    std::string expected;  // as the header has it
    for (size_t i = kMaskFileChecksumAt; i < kMaskFileHeaderBytes; ++i) expected += fmt::format("{:02x}", bytes[i]);
    bytes.back() ^= 1;
    EXPECT_THAT(refusal(bytes), StartsWith("the block mask was altered: its checksum is "));
    EXPECT_THAT(refusal(bytes), testing::EndsWith(", expected " + expected));
    bytes.back() ^= 1;
    bytes.push_back(0);
    EXPECT_EQ(refusal(bytes), "the block mask is too long: it has 2189 bytes, expected 2188");
}

TEST(MaskFile, RefusesCountsThatTheFileCannotHold) {
    const std::string start = "the block mask is inconsistent: ";
    constexpr int64_t kHuge = int64_t{1} << 60;
    EXPECT_EQ(refusal({.batch = kHuge}), start + "1152921504606846976 batches need 16 bytes each and 2108 are left");
    EXPECT_EQ(refusal({.batch = -1}), start + "it says that it has -1 batches");
    EXPECT_EQ(refusal({.heads = kHuge}), start + "1152921504606846976 heads need 8 bytes each and 2076 are left");
    EXPECT_EQ(refusal({.q_tiles = kHuge}),
              start + "1152921504606846976 query tiles need 8 bytes each and 2092 are left");
    EXPECT_EQ(refusal({.kv_tiles = 300}), start + "300 key tiles need 8 bytes each and 2084 are left");
    EXPECT_EQ(refusal({.offset_1 = 1000}), start + "1000 runs need 12 bytes each and 2060 are left");
    EXPECT_EQ(refusal({.offset_1 = -1}), start + "it says that it has -1 runs");
    EXPECT_EQ(refusal({.stencils = 2}), start + "2 stencils need 2048 bytes each and 2048 are left");
    EXPECT_EQ(refusal({.stencils = 0}), start + "2048 bytes are left after its last section");
    EXPECT_EQ(refusal({.tail = "abc"}), start + "3 bytes are left after its last section");
}

TEST(MaskFile, RefusesWhatIsInconsistentInside) {
    const std::string start = "the block mask is inconsistent: ";
    EXPECT_THAT(refusal({.q_len = 6}), StartsWith(start));
    EXPECT_THAT(refusal({.kv_len = 3}), StartsWith(start));
    EXPECT_THAT(refusal({.q_begin = 1}), StartsWith(start));
    EXPECT_THAT(refusal({.kv_rows = 129}), StartsWith(start));
    EXPECT_THAT(refusal({.offset_0 = 1}), StartsWith(start));
    EXPECT_THAT(refusal({.first_tile = 1}), StartsWith(start));
    EXPECT_THAT(refusal({.tiles = 2}), StartsWith(start));
    EXPECT_THAT(refusal({.stencil = 1}), StartsWith(start));
    EXPECT_THAT(refusal({.stencil = -1}), StartsWith(start));            // a short tile is never full
    EXPECT_THAT(refusal({.q_len = 4, .q_rows = 4}), StartsWith(start));  // the stencil has a fifth row
    const TemporaryFolder folder;
    const std::vector<uint8_t> bytes = Sections{.tiles = 2}.file();
    write_text(folder / "m.jmask", std::string(bytes.begin(), bytes.end()));
    EXPECT_THAT(message_of<FileError>([&] { load_mask(folder / "m.jmask"); }),
                StartsWith("'" + (folder / "m.jmask").string() + "' is inconsistent: head 0, query tile 0: "));
}

// One block mask has one file, so that files can be compared.
TEST(MaskFile, RefusesStencilsOutOfOrderOrUnused) {
    const std::string start = "the block mask is inconsistent: ";
    EXPECT_EQ(refusal({.stencil = 1}), start + "a run names stencil 1 before any names stencil 0");
    EXPECT_EQ(refusal({.stencils = 2, .tail = std::string(2048, '\1')}),
              start + "it has 2 stencils and its runs name 1");
}

// Every second row full: the file is short and each key tile has a run for every second query tile.
BlockMask striped_mask(int32_t tiles) {
    BlockMask::Parts parts;
    parts.q_len = parts.kv_len = int64_t{tiles} * kTileRows;
    parts.grids.push_back({test::aligned_tiles(parts.q_len), test::aligned_tiles(parts.kv_len)});
    std::vector<int64_t>& offsets = parts.row_offsets.emplace_back(1, 0);
    std::vector<Run>& runs = parts.runs.emplace_back();
    for (int32_t tile = 0; tile < tiles; ++tile) {
        if (tile % 2 == 0) runs.push_back({0, tiles, kFull});
        offsets.push_back(static_cast<int64_t>(runs.size()));
    }
    return BlockMask::assemble(std::move(parts));
}

TEST(MaskFile, RefusesMasksOfMoreBytesThanTheLimitBeforeTheyAreThere) {
    const BlockMask mask = striped_mask(200);
    const std::vector<uint8_t> bytes = encode_mask(mask);
    EXPECT_LT(static_cast<int64_t>(bytes.size()), mask.bytes() / 20);
    EXPECT_TRUE(decode_mask(bytes, mask.bytes()) == mask);
    EXPECT_EQ(message_of<LimitError>([&] { decode_mask(bytes, mask.bytes() - 1); }),
              "the block mask would take " + std::to_string(mask.bytes()) + " bytes in memory, and the limit is " +
                  std::to_string(mask.bytes() - 1));
}

TEST(MaskFile, KnowsTheBytesOfEveryMaskBeforeItIsThere) {
    std::mt19937_64 random = test::fresh_random();
    for (int round = 0; round < 20; ++round) {
        const BlockMask mask = test::random_mask(random).mask;
        EXPECT_NO_THROW(decode_mask(encode_mask(mask), mask.bytes()));
        EXPECT_THROW(decode_mask(encode_mask(mask), mask.bytes() - 1), LimitError);
    }
}

TEST(MaskFile, RefusesWhatCannotBeRead) {
    const TemporaryFolder folder;
    EXPECT_EQ(message_of<FileError>([&] { load_mask(folder / "none.jmask"); }),
              "cannot read '" + (folder / "none.jmask").string() + "': No such file or directory");
    EXPECT_EQ(message_of<FileError>([&] { load_mask(folder.path()); }),
              "cannot read '" + folder.path().string() + "': Is a directory");
}

TEST(MaskFile, AFullDiskLeavesTheOldMask) {
    TemporaryFolder folder;
    if (!folder.mount_disk(1 << 16)) GTEST_SKIP() << "this process may not mount a small disk";
    save_mask(small_mask(), folder / "m.jmask");
    const BlockMask large = striped_mask(6000);
    EXPECT_THAT(message_of<FileError>([&] { save_mask(large, folder / "m.jmask"); }),
                StartsWith("cannot write '" + (folder / "m.jmask").string() + "': No space left on device"));
    EXPECT_TRUE(load_mask(folder / "m.jmask") == small_mask());
    EXPECT_THAT(folder.names(), ElementsAre("m.jmask"));
}

}  // namespace
}  // namespace jali

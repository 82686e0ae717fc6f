#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "audit/carriers.h"
#include "io/temporary_folder.h"
#include "jali/audit.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

using jali::test::TemporaryFolder;
using testing::ElementsAre;

std::vector<std::string> names_of(const Unpacked& unpacked) {
    std::vector<std::string> names;
    for (const std::filesystem::path& file : unpacked.files) names.push_back(file.filename());
    return names;
}

std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

const std::string kPtx = ".version 9.0\n.target sm_120\n";

// PTX, and cubins plain and compressed.
Bytes three_images() {
    return fat_binary({{.kind = 1, .arch = 120, .bytes = bytes_of(kPtx), .packing = Packing::kLz4},
                       {.arch = 90, .flags = 0x11 | kArchSpecific, .bytes = cubin("first")},
                       {.arch = 80, .bytes = cubin("second"), .packing = Packing::kZstd}});
}

TEST(UnpackImages, WritesEachImageAsItIs) {
    const TemporaryFolder folder;
    write_bytes(folder / "k.fatbin", three_images());
    const Unpacked unpacked = unpack_images(folder / "k.fatbin", folder / "out");
    EXPECT_TRUE(unpacked.problems.empty());
    EXPECT_THAT(names_of(unpacked), ElementsAre("0000.sm_120.ptx", "0001.sm_90a.cubin", "0002.sm_80.cubin"));
    EXPECT_EQ(content_of(folder / "out/0000.sm_120.ptx"), kPtx);
    const Bytes second = cubin("second");
    EXPECT_EQ(content_of(folder / "out/0002.sm_80.cubin"), std::string(second.begin(), second.end()));
}

TEST(UnpackImages, WritesOnlyWhatIsWanted) {
    const TemporaryFolder folder;
    write_bytes(folder / "k.fatbin", three_images());
    const auto names = [&](const UnpackOptions& options) {
        return names_of(unpack_images(folder / "k.fatbin", folder / "out", options));
    };
    EXPECT_THAT(names({.cubins = false}), ElementsAre("0000.sm_120.ptx"));
    EXPECT_THAT(names({.ptx = false}), ElementsAre("0000.sm_90a.cubin", "0001.sm_80.cubin"));
    EXPECT_THAT(names({.arch = "sm_80"}), ElementsAre("0000.sm_80.cubin"));
    EXPECT_THAT(names({.most_bytes = 100}), ElementsAre("0000.sm_120.ptx"));
}

TEST(UnpackImages, WhatDoesNotUnpackLosesNoOther) {
    const TemporaryFolder folder;
    Bytes bytes = three_images();
    bytes.resize(bytes.size() - 4);
    write_bytes(folder / "k.fatbin", bytes);
    const Unpacked unpacked = unpack_images(folder / "k.fatbin", folder / "out");
    EXPECT_FALSE(unpacked.problems.empty());
    EXPECT_THAT(names_of(unpacked), testing::Contains("0001.sm_90a.cubin"));
}

TEST(UnpackImages, RefusesAFolderThatCannotBe) {
    const TemporaryFolder folder;
    write_bytes(folder / "k.fatbin", three_images());
    EXPECT_THROW(unpack_images(folder / "k.fatbin", folder / "k.fatbin/out"), FileError);
    EXPECT_THROW(unpack_images(folder / "none", folder / "out"), FileError);
}

}  // namespace
}  // namespace jali::audit::test

// From a path to images.
#include "audit/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "audit/carriers.h"
#include "audit/file_kind.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

using jali::test::message_of;
using jali::test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(FileKind, IsToldByTheFirstBytes) {
    EXPECT_EQ(kind_of(cubin()), FileKind::kCubin);
    EXPECT_EQ(kind_of(elf(kX86Machine, {})), FileKind::kHostElf);
    EXPECT_EQ(kind_of(fat_binary({})), FileKind::kFatBinary);
    EXPECT_EQ(kind_of(ar({})), FileKind::kArchive);
    EXPECT_EQ(kind_of(zip({{"a", Bytes(1)}})), FileKind::kZip);
    EXPECT_EQ(kind_of(bytes_of(".version 9.0\n")), FileKind::kPtx);
    EXPECT_EQ(kind_of(bytes_of("\n//\n// a comment\n/* and\nanother */ \t.version 9.0\n")), FileKind::kPtx);
    EXPECT_EQ(kind_of(bytes_of("// .version 9.0")), FileKind::kUnknown);
    EXPECT_EQ(kind_of(bytes_of("import os\n")), FileKind::kUnknown);
    EXPECT_EQ(kind_of({}), FileKind::kUnknown);
    Bytes narrow = cubin();
    narrow[4] = 1;  // 32 bits
    EXPECT_EQ(kind_of(narrow), FileKind::kUnknown);
}

TEST(Walk, GivesASingleFileUnderItsPath) {
    const Found ptx = found_in(bytes_of(".version 9.0\n"), "k.ptx");
    ASSERT_EQ(ptx.images.size(), 1U);
    EXPECT_EQ(ptx.images[0].kind, ImageKind::kPtx);
    EXPECT_EQ(ptx.images[0].origin, "k.ptx");
    EXPECT_THAT(found_in(cubin(), "k.cubin").origins(), ElementsAre("k.cubin"));
}

TEST(Walk, SaysWhatANamedFileIsNot) {
    EXPECT_THAT(found_in(bytes_of("hello"), "notes.txt").problems,
                ElementsAre("notes.txt: is neither PTX, cubin, fat binary, ELF, archive nor wheel, and no device code "
                            "is in its 5 bytes"));
    EXPECT_EQ(found_in({}, "empty").problems.size(), 1U);
}

TEST(Walk, FindsDeviceCodeInFilesOfAnyKind) {
    const Found it = found_in(joined({bytes_of("MZ and so on"), fat_binary({{.bytes = cubin()}})}), "k.dll");
    EXPECT_THAT(it.origins(), ElementsAre("k.dll!fatbin 1"));
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(Walk, ThrowsOnlyWhereThePathCannotBeOpened) {
    const TemporaryFolder folder;
    const std::string path = folder / "none";
    EXPECT_EQ(message_of<FileError>([&] { walk(path, {}); }), "cannot read '" + path + "': No such file or directory");
}

TEST(Walk, VisitsAFolderInTheOrderOfNames) {
    const TemporaryFolder folder;
    const auto tree = folder / "tree";
    std::filesystem::create_directories(tree / "b");
    write_bytes(tree / "c.cubin", cubin());
    write_bytes(tree / "a.ptx", bytes_of(".version 9.0\n"));
    write_bytes(tree / "b" / "z.cubin", cubin());
    write_bytes(tree / "b" / "notes.txt", bytes_of("passed over"));
    write_bytes(tree / "empty.cubin", {});
    const Found it = found_in(tree);
    EXPECT_THAT(it.origins(), ElementsAre("tree/a.ptx", "tree/b/z.cubin", "tree/c.cubin"));
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(Walk, ReadsALinkedFileOnceAndLoopsNever) {
    const TemporaryFolder folder;
    const auto tree = folder / "tree";
    std::filesystem::create_directories(tree / "sub");
    write_bytes(tree / "lib.so.1", cubin());
    std::filesystem::create_symlink("lib.so.1", tree / "lib.so.2");
    std::filesystem::create_hard_link(tree / "lib.so.1", tree / "lib.so.3");
    std::filesystem::create_directory_symlink("..", tree / "sub" / "up");
    std::filesystem::create_symlink("nowhere", tree / "dangling.so");
    ASSERT_EQ(mkfifo((tree / "pipe").c_str(), 0600), 0);
    const Found it = found_in(tree);
    EXPECT_THAT(it.origins(), ElementsAre("tree/lib.so.1"));
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(Walk, GoesOnPastWhatIsBroken) {
    const TemporaryFolder folder;
    const auto tree = folder / "tree";
    std::filesystem::create_directory(tree);
    Bytes broken = elf(kX86Machine, {});
    put(broken, 40, UINT64_MAX);
    write_bytes(tree / "a.so", broken);
    write_bytes(tree / "b.cubin", cubin());
    const Found it = found_in(tree);
    EXPECT_THAT(it.origins(), ElementsAre("tree/b.cubin"));
    EXPECT_THAT(it.problems, ElementsAre("tree/a.so: ELF section headers begin at offset 18446744073709551615 of " +
                                         std::to_string(broken.size()) + " bytes"));
}

TEST(PtxImages, AreThePtxOfAnything) {
    const TemporaryFolder folder;
    const std::string ptx = ".version 9.0\n.target sm_90\n";
    write_bytes(
        folder / "k.o",
        elf(kX86Machine,
            {{.name = ".nv_fatbin",
              .bytes = fat_binary({{.bytes = cubin()},
                                   {.kind = 1, .bytes = bytes_of(ptx), .packing = Packing::kZstd, .options = "-O1"},
                                   {.kind = 1, .bytes = bytes_of(ptx), .packing = Packing::kLz4}})}}));
    const PtxImages it = read_ptx_images(folder / "k.o");
    ASSERT_EQ(it.images.size(), 2U);
    EXPECT_EQ(std::string(it.images[0].bytes.begin(), it.images[0].bytes.end()), ptx);
    EXPECT_EQ(it.images[0].arch, "sm_90");
    EXPECT_EQ(it.images[0].options, "-O1");
    EXPECT_THAT(it.problems, IsEmpty());
}

}  // namespace
}  // namespace jali::audit::test

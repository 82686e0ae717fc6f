// Static archives, zips and wheels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "audit/ar_archive.h"
#include "audit/carriers.h"
#include "audit/zip_archive.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

Bytes object(std::string_view content) {
    return elf(kX86Machine, {{.name = ".nv_fatbin", .bytes = fat_binary({{.bytes = cubin(content)}})}});
}

TEST(StaticArchive, HasMembersWithShortAndLongNames) {
    const Found it = found_in(ar({{"a.o", object("a")},
                                  {"a_name_longer_than_fifteen.o", object("b")},
                                  {"notes.txt", bytes_of("odd")},
                                  {"another_name_longer_than_fifteen.o", object("c")}}),
                              "lib.a");
    EXPECT_THAT(it.origins(), ElementsAre("lib.a!a.o!fatbin 1", "lib.a!a_name_longer_than_fifteen.o!fatbin 1",
                                          "lib.a!another_name_longer_than_fifteen.o!fatbin 1"));
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(StaticArchive, HasBsdNames) {
    Bytes bytes = ar({{"x", bytes_of({"long name.cubin\0the cubin", 25})}});
    const size_t header = 8 + 60 + 4;
    std::copy_n("#1/16           ", 16, bytes.begin() + header);
    std::vector<std::string> names, contents;
    read_ar(bytes, [&](const ArMember& member) {
        names.push_back(member.name);
        contents.emplace_back(member.bytes.begin(), member.bytes.end());
    });
    EXPECT_THAT(names, ElementsAre("long name.cubin"));
    EXPECT_THAT(contents, ElementsAre("the cubin"));
}

TEST(StaticArchive, GivesWhatComesBeforeItIsCut) {
    const Bytes whole = ar({{"a.o", object("a")}, {"b.o", object("b")}});
    const Bytes cut(whole.begin(), whole.end() - 10);
    const size_t second = 8 + 64 + 60 + object("a").size();
    const Found it = found_in(cut, "lib.a");
    EXPECT_EQ(it.images.size(), 1U);
    EXPECT_THAT(it.problems, ElementsAre("lib.a: archive member at offset " + std::to_string(second) + " says " +
                                         std::to_string(object("b").size()) + " bytes and " +
                                         std::to_string(object("b").size() - 10) + " are left"));
}

TEST(StaticArchive, RefusesWhatIsNoHeader) {
    const auto refusal = [](const Bytes& bytes) {
        return jali::test::message_of<FileError>([&] { read_ar(bytes, [](const ArMember&) {}); });
    };
    Bytes bytes = ar({{"a.o", Bytes(4)}});
    bytes[8 + 58] = 'x';
    EXPECT_EQ(refusal(bytes), "archive member at offset 8 has no end of its header");
    bytes = ar({});
    bytes[8 + 48] = '-';
    EXPECT_EQ(refusal(bytes), "archive member at offset 8 says '-' bytes");
    bytes = ar({});
    bytes.resize(8 + 64 + 11, 'x');
    EXPECT_EQ(refusal(bytes), "archive member at offset 72 ends after 11 of the 60 bytes of its header");
    bytes = ar({{"a.o", Bytes(4)}});
    std::copy_n("/99 ", 4, bytes.begin() + 72);
    EXPECT_EQ(refusal(bytes), "archive member at offset 72 has its name at byte 99 of 0");
    EXPECT_EQ(refusal(bytes_of("!<thin>\n")), "archive is thin: its members are other files, read those");
}

TEST(Wheel, HasMembersOfEveryKindAndPassesOverTheRest) {
    const Found it = found_in(zip({{"pkg/a.so", object("a")},
                                   {"pkg/__init__.py", bytes_of("import this")},
                                   {"pkg/k.cubin", cubin("k")},
                                   {"pkg/k.ptx", bytes_of("// made by hand\n.version 8.0\n")},
                                   {"pkg/weights.npz", zip({{"k.cubin", cubin("no")}})},
                                   {"pkg/inner.whl", zip({{"k.cubin", cubin("yes")}})},
                                   {"pkg/empty.so", {}}}),
                              "pkg.whl");
    EXPECT_THAT(it.origins(), ElementsAre("pkg.whl!pkg/a.so!fatbin 1", "pkg.whl!pkg/k.cubin", "pkg.whl!pkg/k.ptx",
                                          "pkg.whl!pkg/inner.whl!k.cubin"));
    EXPECT_THAT(it.problems, IsEmpty());
}

TEST(Wheel, LargeMembersAreWhole) {
    std::string content(5 << 20, ' ');
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i >> 7);
    const Found it = found_in(zip({{"big.cubin", cubin(content)}}), "pkg.whl");
    ASSERT_EQ(it.images.size(), 1U);
    EXPECT_EQ(Bytes(it.images[0].bytes.begin(), it.images[0].bytes.end()), cubin(content));
}

TEST(Wheel, ACorruptMemberDoesNotHideTheOthers) {
    const std::string content = "abcdefgh content that is stored ijklmnop";
    Bytes bytes = zip({{"a.cubin", cubin(content)}, {"b.cubin", cubin("b")}});
    // Any byte of the first member's data.
    bytes.at(30 + 7 + 100) ^= 0xff;
    const Found it = found_in(bytes, "pkg.whl");
    EXPECT_THAT(it.origins(), ElementsAre("pkg.whl!b.cubin"));
    ASSERT_EQ(it.problems.size(), 1U);
    EXPECT_THAT(it.problems[0], StartsWith("pkg.whl!a.cubin: does not unpack past its byte "));
}

// Where the entry of member `index` begins in the directory at the end of a zip.
size_t directory_entry(const Bytes& bytes, int index) {
    const std::string_view magic = "PK\001\002";
    auto at = bytes.begin();
    for (int i = 0; i <= index; ++i) at = std::search(at + (i > 0 ? 1 : 0), bytes.end(), magic.begin(), magic.end());
    return static_cast<size_t>(at - bytes.begin());
}

TEST(Wheel, MembersThatShareTheirBytesAreRefused) {
    std::string content;
    for (uint32_t i = 1; i < 5000; ++i) content += static_cast<char>(i * i * 2654435761U >> 24);
    Bytes bytes = zip({{"a.cubin", cubin(content)}, {"b.cubin", cubin("b")}});
    const size_t a = directory_entry(bytes, 0), b = directory_entry(bytes, 1);
    // All but the name, which is as long: the second is the first again.
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(a), 46, bytes.begin() + static_cast<ptrdiff_t>(b));
    const Found it = found_in(bytes, "pkg.whl");
    EXPECT_THAT(it.origins(), ElementsAre("pkg.whl!a.cubin"));
    ASSERT_EQ(it.problems.size(), 1U);
    EXPECT_THAT(it.problems[0], testing::MatchesRegex("pkg.whl!b.cubin: takes [0-9]+ bytes and the members before it "
                                                      "left [0-9]+ of the file's [0-9]+"));
}

TEST(Wheel, MembersThatClaimToShrinkByAnythingAreRefused) {
    Bytes bytes = zip({{"a.cubin", cubin(std::string(100, 'a'))}});
    put(bytes, directory_entry(bytes, 0) + 24, uint32_t{2'000'000'000});
    EXPECT_THAT(found_in(bytes, "pkg.whl").problems,
                ElementsAre(testing::MatchesRegex("pkg.whl!a.cubin: would unpack from [0-9]+ to 2000000000 bytes, over "
                                                  "1100 times as many")));
}

TEST(Wheel, SaysWhereThereIsNoRoomForALargeMember) {
    const char* before = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
    const std::string kept = before == nullptr ? "" : before;
    const jali::test::TemporaryFolder folder;
    write_bytes(folder / "pkg.whl", zip({{"big.cubin", cubin(std::string(2 << 20, 'b'))}, {"k.cubin", cubin("k")}}));
    setenv("TMPDIR", "/nowhere", 1);  // NOLINT(concurrency-mt-unsafe)
    const Found it = found_in(folder / "pkg.whl");
    if (before == nullptr)
        unsetenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
    else
        setenv("TMPDIR", kept.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    EXPECT_THAT(it.origins(), ElementsAre("pkg.whl!k.cubin"));
    EXPECT_THAT(it.problems, ElementsAre("pkg.whl!big.cubin: cannot make a temporary file in '/nowhere': No such file "
                                         "or directory"));
}

TEST(Wheel, ThatIsCutIsAProblem) {
    const Bytes whole = zip({{"a.cubin", cubin()}});
    const Found it = found_in(Bytes(whole.begin(), whole.end() - 30), "pkg.whl");
    ASSERT_EQ(it.problems.size(), 1U);
    EXPECT_THAT(it.problems[0], StartsWith("pkg.whl: zip file cannot be opened: "));
}

TEST(Wheel, WithinWheelsWithoutEndIsAProblem) {
    Bytes bytes = zip({{"k.cubin", cubin()}});
    for (int i = 0; i < 7; ++i) bytes = zip({{"w.whl", bytes}});
    const Found it = found_in(bytes, "w.whl");
    EXPECT_THAT(it.images, IsEmpty());
    EXPECT_THAT(it.problems, ElementsAre("w.whl!w.whl!w.whl!w.whl!w.whl!w.whl!w.whl!w.whl: lies in 7 archives, the "
                                         "limit is 6"));
}

}  // namespace
}  // namespace jali::audit::test

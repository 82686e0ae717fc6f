// What `jali mask` prints and writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_command.h"
#include "io/npy.h"
#include "io/temporary_folder.h"

namespace jali::test {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::vector<std::string> members(const Json& json) {
    std::vector<std::string> names;
    for (const auto& [name, value] : json.items()) names.push_back(name);
    return names;
}

TEST(MaskJson, HasTheMembersThatTheDocumentationLists) {
    const Json json = json_of(run_jali({"mask", "q >= kv", "--q-len", "200", "--kv-len", "100", "--json", "--sha256"}));
    EXPECT_THAT(members(json),
                UnorderedElementsAre("name", "text", "q_len", "kv_len", "batch", "heads", "mask_batch", "mask_heads",
                                     "pairs", "empty_rows", "empty_columns", "aligned_tiles", "tiles", "computed_pairs",
                                     "grid", "stencils", "runs", "bytes", "build_milliseconds", "interval_decisions",
                                     "evaluated_pairs", "sha256"));
    EXPECT_EQ(json["name"], "q >= kv");
    EXPECT_EQ(json["text"], "q >= kv");
    EXPECT_EQ(json["grid"], "aligned");
    // 100 rows of a triangle and 100 whole rows of 100 keys; two tiles of queries, one of keys.
    EXPECT_EQ(json["pairs"], 100 * 101 / 2 + 100 * 100);
    EXPECT_EQ(json["computed_pairs"], 2 * 128 * 128);
    EXPECT_THAT(members(json["aligned_tiles"]), UnorderedElementsAre("full", "partial", "empty"));
    EXPECT_EQ(json["aligned_tiles"]["full"], 1);
    EXPECT_EQ(json["aligned_tiles"]["partial"], 1);
    for (const char* number : {"stencils", "runs", "bytes", "interval_decisions", "evaluated_pairs"}) {
        EXPECT_TRUE(json[number].is_number_integer()) << number;
    }
    EXPECT_TRUE(json["build_milliseconds"].is_number_float());
}

TEST(MaskJson, NamesAnAnchoredGrid) {
    const Json json = json_of(run_jali({"mask", "doc[q] == doc[kv]", "--q-len", "300", "--table",
                                        "doc=lengths:100,90,110", "--grid", "anchored", "--json"}));
    EXPECT_EQ(json["grid"], "anchored");
    EXPECT_EQ(json["computed_pairs"], 3 * 128 * 128);
    EXPECT_EQ(json["pairs"], 100 * 100 + 90 * 90 + 110 * 110);
}

TEST(MaskJson, IsAListForAListAndAnObjectForAnObject) {
    const TemporaryFolder folder;
    const std::string entry = R"({"name": "c", "text": "q >= kv", "B": 1, "H": 1, "q_len": 4, "kv_len": 4})";
    write_text(folder / "one.json", entry);
    write_text(folder / "list.json", "[" + entry + "]");
    EXPECT_TRUE(json_of(run_jali({"mask", "--spec", "one.json", "--json"}, folder.path())).is_object());
    EXPECT_TRUE(json_of(run_jali({"mask", "--spec", "list.json", "--json"}, folder.path())).is_array());
    EXPECT_TRUE(json_of(run_jali({"mask", "--spec", "list.json", "--name", "c", "--json"}, folder.path())).is_object());
}

TEST(MaskJson, IsValidWhateverTheNameHolds) {
    const Json json = json_of(run_jali({"mask", "q >= kv", "--q-len", "4", "--name", "\"\xff\n", "--json"}));
    EXPECT_EQ(json["name"], "\"\xef\xbf\xbd\n");
}

TEST(MaskTable, SaysTheNumbers) {
    const Ran ran = run_jali({"mask", "q >= kv", "--q-len", "3000"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, StartsWith("q >= kv\n"));
    EXPECT_THAT(ran.out, HasSubstr("kept pairs            4,501,500  (50.0% of all)\n"));
    EXPECT_THAT(ran.out, HasSubstr("tiles, aligned grid   276 full, 24 partial, 276 empty\n"));
}

TEST(MaskTable, ShowsAPicture) {
    const Ran ran = run_jali({"mask", "q >= kv", "--q-len", "8", "--picture"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.out, HasSubstr("│█▒      │"));
}

TEST(MaskTable, WarnsOfAnAmpersandThatBindsTighter) {
    const Ran ran =
        run_jali({"mask", "doc[q] == doc[kv] & q >= kv", "--q-len", "6", "--table", "doc=lengths:2,4", "--json"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.err, StartsWith("jali: warning: "));
    EXPECT_FALSE(Json::parse(ran.out, nullptr, false).is_discarded());
}

TEST(MaskTables, GiveTheSameMaskInEveryForm) {
    const TemporaryFolder folder;
    write_text(folder / "doc.npy",
               std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                   "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }" + std::string(60, ' ') + "\n" +
                   std::string("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 40));
    const auto hash_with = [&](const std::string& table) {
        return json_of(
            run_jali({"mask", "doc[q] == doc[kv]", "--q-len", "5", "--table", "doc=" + table, "--sha256", "--json"},
                     folder.path()))["sha256"];
    };
    const Json expected = hash_with("0,0,1,2,2");
    EXPECT_EQ(hash_with("lengths:2,1,2"), expected);
    EXPECT_EQ(hash_with("offsets:0,2,3,5"), expected);
    EXPECT_EQ(hash_with("doc.npy"), expected);
    EXPECT_NE(hash_with("lengths:3,2"), expected);
}

TEST(MaskScalars, StandForTheirNumbers) {
    const Json json = json_of(
        run_jali({"mask", "0 <= q - kv + s < w", "--q-len", "50", "--scalar", "w=3", "--scalar", "s=-1", "--json"}));
    EXPECT_EQ(json["pairs"], 49 + 48 + 47);
}

TEST(MaskDense, WritesEveryBitInOrder) {
    const TemporaryFolder folder;
    ASSERT_EQ(run_jali({"mask", "q >= kv and q - kv < w[h] or b == 1", "--q-len", "150", "--kv-len", "140", "--batch",
                        "2", "--heads", "3", "--table", "w=1,7,130", "--dense", "bits.npy"},
                       folder.path())
                  .exit_code,
              0);
    EXPECT_THAT(folder.names(), ElementsAre("bits.npy"));
    const io::NpyArray array = io::read_npy(folder / "bits.npy");
    ASSERT_TRUE(array.is_boolean);
    ASSERT_THAT(array.shape, ElementsAre(2, 3, 150, 140));
    const int widths[] = {1, 7, 130};
    size_t i = 0;
    for (int b = 0; b < 2; ++b) {
        for (int h = 0; h < 3; ++h) {
            for (int q = 0; q < 150; ++q) {
                for (int kv = 0; kv < 140; ++kv, ++i) {
                    ASSERT_EQ(array.booleans[i] != 0, (q >= kv && q - kv < widths[h]) || b == 1) << b << h << q << kv;
                }
            }
        }
    }
}

TEST(MaskSvg, IsADocumentWithTheName) {
    const TemporaryFolder folder;
    ASSERT_EQ(
        run_jali({"mask", "q >= kv", "--q-len", "500", "--name", "my mask", "--svg", "picture.svg"}, folder.path())
            .exit_code,
        0);
    const std::string svg = read_text(folder / "picture.svg");
    EXPECT_THAT(svg, HasSubstr("<svg "));
    EXPECT_THAT(svg, HasSubstr("my mask"));
}

TEST(MaskPictures, ShowTheHeadThatIsAskedFor) {
    const auto picture_of = [](const std::string& which) {
        return run_jali({"mask", "q >= kv + w[h]", "--q-len", "8", "--heads", "2", "--table", "w=0,100", "--picture",
                         "--picture-of", which});
    };
    EXPECT_THAT(picture_of("0,0").out, HasSubstr("█"));
    EXPECT_THAT(picture_of("0,1").out, testing::Not(HasSubstr("█")));
    EXPECT_EQ(picture_of("0,2").err, "jali: --picture-of is '0,2' but must be B,H with B below 1 and H below 2\n");
}

}  // namespace
}  // namespace jali::test

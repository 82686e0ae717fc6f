// Every entry of the masks file through `jali mask`: the answers there were found independently.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/run_command.h"
#include "io/temporary_folder.h"

namespace jali::test {
namespace {

using Json = nlohmann::json;

const Json& entries() {
    static const Json list = Json::parse(std::ifstream(kMasksFile));
    return list;
}

void expect_answer(const Json& printed, const Json& entry) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    const Json& answer = entry["answer"];
    EXPECT_EQ(printed["name"], entry["name"]);
    EXPECT_EQ(printed["batch"], entry["B"]);
    EXPECT_EQ(printed["heads"], entry["H"]);
    EXPECT_EQ(printed["q_len"], entry["q_len"]);
    EXPECT_EQ(printed["kv_len"], entry["kv_len"]);
    EXPECT_EQ(printed["pairs"], answer["pairs"]);
    EXPECT_EQ(printed["empty_rows"], answer["empty_rows"]);
    EXPECT_EQ(printed["empty_columns"], answer["empty_columns"]);
    EXPECT_EQ(printed["aligned_tiles"], answer["tiles"]);
    EXPECT_EQ(printed["sha256"], answer["sha256"]);
    EXPECT_GE(printed["computed_pairs"], printed["pairs"]);
}

class MaskEntries : public testing::TestWithParam<const char*> {};

TEST_P(MaskEntries, HaveTheAnswersOfTheFileAsOneList) {
    const Json list = json_of(run_jali({"mask", "--spec", kMasksFile, "--grid", GetParam(), "--json", "--sha256"}));
    ASSERT_EQ(list.size(), entries().size());
    for (size_t i = 0; i < list.size(); ++i) expect_answer(list[i], entries()[i]);
}

TEST_P(MaskEntries, HaveTheAnswersOfTheFileByName) {
    for (const Json& entry : entries()) {
        const std::string name = entry["name"];
        expect_answer(json_of(run_jali(
                          {"mask", "--spec", kMasksFile, "--name", name, "--grid", GetParam(), "--json", "--sha256"})),
                      entry);
    }
}

INSTANTIATE_TEST_SUITE_P(OnGrid, MaskEntries, testing::Values("auto", "aligned", "anchored"),
                         [](const auto& grid) { return std::string(grid.param); });

TEST(MaskFile, HasTheAnswersOfTheMaskThatItWasSavedFrom) {
    const TemporaryFolder folder;
    for (const Json& entry : entries()) {
        const std::string name = entry["name"];
        ASSERT_EQ(run_jali({"mask", "--spec", kMasksFile, "--name", name, "--save", name + ".jmask"}, folder.path())
                      .exit_code,
                  0);
        expect_answer(json_of(run_jali({"mask", "--mask", name + ".jmask", "--json", "--sha256"}, folder.path())),
                      entry);
    }
}

TEST(MaskSizes, SpreadABroadcastMaskOverBatchAndHeads) {
    const Json one = json_of(run_jali({"mask", "q >= kv", "--q-len", "300", "--json"}));
    const Json many =
        json_of(run_jali({"mask", "q >= kv", "--q-len", "300", "--batch", "2", "--heads", "3", "--json"}));
    EXPECT_EQ(one["pairs"], 300 * 301 / 2);
    EXPECT_EQ(many["pairs"], 6 * 300 * 301 / 2);
    EXPECT_EQ(many["computed_pairs"], 6 * one["computed_pairs"].get<int64_t>());
    EXPECT_EQ(many["bytes"], one["bytes"]);
    EXPECT_EQ(many["mask_batch"], 1);
    EXPECT_EQ(many["mask_heads"], 1);
}

}  // namespace
}  // namespace jali::test

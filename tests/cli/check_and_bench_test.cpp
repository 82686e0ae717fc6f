// `jali check`, `jali bench`, `jali info` and `jali demo`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_command.h"
#include "io/temporary_folder.h"

namespace jali::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_of(const Json& tensors) {
    std::vector<std::string> names;
    for (const Json& tensor : tensors) names.push_back(tensor["name"]);
    return names;
}

TEST(Check, PassesForEveryTypeAndPrintsItsSeed) {
    for (const char* dtype : {"fp32", "bf16", "fp16"}) {
        for (const bool peaked : {false, true}) {
            std::vector<std::string> arguments = {"check",      "q >= kv", "--q-len",    "200", "--heads",      "4",
                                                  "--kv-heads", "2",       "--head-dim", "24",  "--v-head-dim", "16",
                                                  "--dtype",    dtype,     "--backward"};
            if (peaked) arguments.emplace_back("--peaked");
            const Ran ran = run_jali(arguments);
            EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
            EXPECT_THAT(ran.out, HasSubstr("\n\npassed\n"));
            EXPECT_THAT(ran.out, HasSubstr("  seed  "));
        }
    }
}

TEST(Check, RepeatsWithTheSameSeed) {
    const auto tensors_with = [](const char* seed) {
        return json_of(run_jali(
            {"check", "abs(q - kv) < 30", "--q-len", "150", "--head-dim", "16", "--seed", seed, "--json"}))["tensors"];
    };
    EXPECT_EQ(tensors_with("5"), tensors_with("5"));
    EXPECT_NE(tensors_with("5"), tensors_with("6"));
}

TEST(Check, ReportsEveryTensorAndTile) {
    const Json json = json_of(run_jali({"check", "q >= kv", "--q-len", "200", "--kv-len", "300", "--heads", "2",
                                        "--kv-heads", "1", "--head-dim", "16", "--backward", "--json"}));
    EXPECT_EQ(json["passed"], true);
    EXPECT_EQ(json["failure"], "");
    ASSERT_THAT(names_of(json["tensors"]), UnorderedElementsAre("out", "lse", "dq", "dk", "dv"));
    for (const Json& tensor : json["tensors"]) {
        const bool of_keys = tensor["name"] == "dk" || tensor["name"] == "dv";
        EXPECT_EQ(tensor["tiles"].size(), of_keys ? 3U : 4U) << tensor["name"];  // 300 keys of 1 head, 200 queries of 2
    }
}

TEST(Check, FailsWithOneWhereTheEngineGetsOneWrongPair) {
    const std::vector<std::string> arguments = {"check",  "q >= kv", "--q-len",    "200", "--heads", "2",
                                                "--seed", "1",       "--head-dim", "16",  "--flip",  "0,1,9,10"};
    const Ran ran = run_jali(arguments);
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, HasSubstr("\nFAILED: out (b 0, h 1, row 9, column "));
    EXPECT_THAT(ran.out, HasSubstr("  seed        1\n"));
    std::vector<std::string> with_json = arguments;
    with_json.emplace_back("--json");
    const Ran as_json = run_jali(with_json);
    EXPECT_EQ(as_json.exit_code, 1);
    const Json json = Json::parse(as_json.out);
    EXPECT_EQ(json["passed"], false);
    for (const Json& tensor : json["tensors"]) {
        for (const Json& tile : tensor["tiles"]) {
            EXPECT_EQ(tile["passed"].get<bool>(), !(tile["h"] == 1 && tile["tile"] == 0)) << tensor["name"] << tile;
        }
    }
}

TEST(Bench, ReportsUsefulSpeedAndItsShareOfThePeak) {
    const Json json = json_of(run_jali({"bench", "doc[q] == doc[kv] and q >= kv", "--q-len", "300", "--table",
                                        "doc=lengths:100,200", "--heads", "4", "--kv-heads", "2", "--head-dim", "32",
                                        "--v-head-dim", "16", "--repeat", "3", "--threads", "1", "--json"}));
    const int64_t pairs = 4 * (100 * 101 / 2 + 200 * 201 / 2);
    EXPECT_EQ(json["useful_pairs"], pairs);
    EXPECT_GE(json["computed_pairs"], json["useful_pairs"]);
    EXPECT_EQ(json["threads"], 1);
    EXPECT_EQ(json["dtype"], "bfloat16");
    const double peak = json["peak_tflops"];
    EXPECT_GT(peak, 0);
    for (const auto& [direction, flops] : {std::pair{"forward", 2 * (32 + 16)}, {"backward", 2 * (3 * 32 + 2 * 16)}}) {
        const Json& speed = json[direction];
        EXPECT_NEAR(speed["useful_tflops"].get<double>(), flops * pairs / speed["milliseconds"].get<double>() / 1e9,
                    1e-9);
        EXPECT_NEAR(speed["share_of_peak"].get<double>(), speed["useful_tflops"].get<double>() / peak, 1e-9);
    }
}

TEST(Bench, LeavesTheBackwardOutWhereAsked) {
    const Json json = json_of(run_jali(
        {"bench", "q >= kv", "--q-len", "100", "--head-dim", "16", "--repeat", "1", "--forward-only", "--json"}));
    EXPECT_TRUE(json.contains("forward"));
    EXPECT_FALSE(json.contains("backward"));
}

TEST(Info, SaysWhatThereIs) {
    const Json json = json_of(run_jali({"info", "--json"}));
    EXPECT_THAT(names_of(json["engines"]), testing::Contains("cpu"));
    EXPECT_GE(json["threads"], 1);
    EXPECT_GT(json["memory_bytes"], 1 << 20);
    EXPECT_TRUE(json["gpu"].is_string());
    EXPECT_EQ(json["limits"]["tile_rows"], 128);
    const Ran ran = run_jali({"info"});
    EXPECT_EQ(ran.exit_code, 0);
    for (const char* row : {"version", "engines", "processor", "instruction sets", "memory", "gpu", "limits"}) {
        EXPECT_THAT(ran.out, HasSubstr(std::string("\n  ") + row));
    }
}

TEST(SlowDemo, ChecksItsResultsAndWritesItsFiles) {
    const TemporaryFolder folder;
    const Json json = json_of(run_jali({"demo", "--out", "results/demo", "--json"}, folder.path()));
    // Each of the lengths that the report gives keeps n * (n + 1) / 2 pairs.
    int64_t pairs = 0, tokens = 0;
    for (const int64_t n :
         {684, 3119, 1653, 3776, 835, 2299, 707, 1383, 1545, 2771, 3349, 2290, 2340, 1623, 1606, 1496, 600, 692}) {
        pairs += n * (n + 1) / 2;
        tokens += n;
    }
    EXPECT_EQ(tokens, 32768);
    EXPECT_EQ(json["tokens"], tokens);
    EXPECT_EQ(json["pairs"], pairs);
    EXPECT_EQ(json["passed"], true);
    EXPECT_LT(json["anchored"]["computed_pairs"], json["aligned"]["computed_pairs"]);
    ASSERT_THAT(names_of(json["tensors"]), UnorderedElementsAre("out", "lse", "dq", "dk", "dv"));
    for (const Json& tensor : json["tensors"]) {
        EXPECT_GT(tensor["rows"], 1000);
        EXPECT_LE(tensor["error"], tensor["allowed"]);
    }
    EXPECT_THAT(read_text(folder / "results/demo/documents.svg"), HasSubstr("<svg "));
    const Json mask = json_of(run_jali({"mask", "--mask", "results/demo/documents.jmask", "--json"}, folder.path()));
    EXPECT_EQ(mask["pairs"], pairs);
}

}  // namespace
}  // namespace jali::test

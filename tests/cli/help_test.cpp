// The help teaches by example, and its examples work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/run_command.h"
#include "cli/tensor_files.h"
#include "io/temporary_folder.h"

namespace jali::test {
namespace {

using testing::HasSubstr;

class Help : public testing::TestWithParam<const char*> {};

std::string help_of(const std::string& command) {
    const Ran ran = run_jali({command, "--help"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.err, "");
    return ran.out;
}

TEST_P(Help, ShowsItsUseAndExamples) {
    const std::string help = help_of(GetParam());
    EXPECT_THAT(help, HasSubstr(std::string("Usage: jali ") + GetParam() + " "));
    EXPECT_THAT(help, HasSubstr(std::string("Examples:\n  jali ") + GetParam()));
}

TEST_P(Help, FitsAWideTerminal) {
    std::istringstream lines(help_of(GetParam()));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 132) << line;
}

// Every line of the help that begins with "  jali" is run in a folder that has the files which the examples name.
void run_examples(const std::string& command) {
    const TemporaryFolder folder;
    const NamedValues inputs = draw_inputs({.q_len = 300, .kv_len = 300, .head_dim = 32, .v_head_dim = 32}, 1);
    write_tensors(folder / "qkv.safetensors", inputs);
    write_tensors(folder / "bshd.safetensors", inputs, Order::kBshd);
    write_text(folder / "masks.json",
               R"([{"name": "window", "text": "0 <= q - kv < 50", "B": 1, "H": 1, "q_len": 500, "kv_len": 500},
                   {"name": "prefix", "text": "q >= kv or kv < 9", "B": 1, "H": 1, "q_len": 200, "kv_len": 200},
                   {"name": "documents", "text": "q // 100 == kv // 100", "B": 1, "H": 1, "q_len": 300, "kv_len": 300}])");
    ASSERT_EQ(
        run_jali({"mask", "True", "--q-len", "512", "--kv-len", "640", "--dense", "all.npy"}, folder.path()).exit_code,
        0);
    // The dense form of a mask has rank 4; the table of the example has rank 2.
    std::string array = read_text(folder / "all.npy");
    array.replace(array.find("(1, 1, 512, 640)"), 16, "(512, 640)      ");
    write_text(folder / "keep.npy", array);
    ASSERT_EQ(
        run_jali({"mask", "0 <= q - kv < 50", "--q-len", "300", "--save", "window.jmask"}, folder.path()).exit_code, 0);

    std::istringstream lines(help_of(command));
    int examples = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("  jali ")) continue;
        ++examples;
        const std::string small = command == "bench" ? " --repeat 1" : "";
        const Ran ran = run_shell(line + small, folder.path());
        EXPECT_EQ(ran.exit_code, 0) << line << "\n" << ran.err;
        EXPECT_EQ(ran.err, "") << line;
    }
    EXPECT_GE(examples, 2);
}

TEST(HelpExamples, OfMaskWork) {
    run_examples("mask");
}
TEST(HelpExamples, OfRunWork) {
    run_examples("run");
}
TEST(HelpExamples, OfCheckWork) {
    run_examples("check");
}
TEST(HelpExamples, OfInfoWork) {
    run_examples("info");
}
TEST(SlowHelpExamples, OfBenchWork) {
    run_examples("bench");
}
TEST(SlowHelpExamples, OfDemoWork) {
    run_examples("demo");
}

INSTANTIATE_TEST_SUITE_P(Of, Help, testing::Values("mask", "run", "check", "bench", "info", "demo"),
                         [](const auto& command) { return std::string(command.param); });

TEST(HelpOfAll, NamesEverySubcommandAndTheExitCodes) {
    const Ran ran = run_jali({"--help"});
    EXPECT_EQ(ran.exit_code, 0);
    for (const char* command : {"mask", "run", "check", "bench", "info", "demo"}) {
        EXPECT_THAT(ran.out, HasSubstr(std::string("\n  ") + command + " "));
    }
    EXPECT_THAT(ran.out, HasSubstr("Exit codes: 0 fine, 1 the check failed, 2 bad usage or input."));
}

TEST(HelpOfAll, ComesWithoutArgumentsToo) {
    const Ran ran = run_jali({});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("Usage: jali"));
}

TEST(Version, IsANumber) {
    const Ran ran = run_jali({"--version"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.out, testing::MatchesRegex("jali [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

}  // namespace
}  // namespace jali::test

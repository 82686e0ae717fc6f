// Full disks, interruptions and readers that leave: nothing lost, nothing half-written, nothing noisy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "cli/run_command.h"
#include "cli/tensor_files.h"
#include "io/temporary_folder.h"
#include "support/sanitized.h"

namespace jali::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kDiskBytes = 1 << 16;

struct Output {
    std::string name;
    std::vector<std::string> arguments;
};

// Each writes more than kDiskBytes to "result".
std::vector<Output> large_outputs(const std::filesystem::path& inputs) {
    return {{"dense", {"mask", "q >= kv", "--q-len", "1000", "--dense", "result"}},
            {"save", {"mask", "(q * q * 31 + kv * kv * 17) % 7919 % 3 == 0", "--q-len", "1000", "--save", "result"}},
            {"run", {"run", "q >= kv", "--in", inputs, "--out", "result"}}};
}

TEST(FullDisk, LeavesTheOldFileAndSaysSo) {
    TemporaryFolder disk;
    const TemporaryFolder elsewhere;
    write_attention_inputs(elsewhere / "in.safetensors", {1, 1, 1, 1000, 1000, 32, 32}, 1);
    if (!disk.mount_disk(kDiskBytes)) GTEST_SKIP() << "this process may not mount a small disk";
    for (const Output& output : large_outputs(elsewhere / "in.safetensors")) {
        SCOPED_TRACE(output.name);
        write_text(disk / "result", "old");
        const Ran ran = run_jali(output.arguments, disk.path());
        EXPECT_EQ(ran.exit_code, 2);
        EXPECT_THAT(ran.err, testing::AnyOf(StartsWith("jali: cannot write 'result': No space left on device after "),
                                            StartsWith("jali: --dense needs 976.6 KiB for 1 x 1 x 1000 x 1000 bytes")));
        EXPECT_EQ(ran.out, "");
        EXPECT_TRUE(read_text(disk / "result") == "old");
        EXPECT_THAT(disk.names(), ElementsAre("result"));
    }
}

TEST(FullDisk, IsAnErrorForStandardOutputToo) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
    const Ran ran = run_shell("jali mask 'q >= kv' --q-len 4 > /dev/full");
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err, "jali: standard output cannot be written: No space left on device\n");
}

TEST(Outputs, NeverReplaceWhatIsReadOrEachOther) {
    const TemporaryFolder folder;
    write_attention_inputs(folder / "in.safetensors", {1, 1, 1, 10, 10, 8, 8}, 1);
    write_text(folder / "spec.json", R"({"text": "q >= kv", "q_len": 8, "kv_len": 8})");
    const std::string inputs = read_text(folder / "in.safetensors"), spec = read_text(folder / "spec.json");
    const Ran over_tensors =
        run_jali({"run", "True", "--in", "in.safetensors", "--out", "./in.safetensors"}, folder.path());
    EXPECT_EQ(over_tensors.exit_code, 2);
    EXPECT_EQ(over_tensors.err, "jali: './in.safetensors' is read here and cannot be written as well\n");
    const Ran over_spec = run_jali({"mask", "--spec", "spec.json", "--save", "spec.json"}, folder.path());
    EXPECT_EQ(over_spec.exit_code, 2);
    EXPECT_EQ(over_spec.err, "jali: 'spec.json' is read here and cannot be written as well\n");
    const Ran twice = run_jali({"mask", "True", "--q-len", "4", "--save", "x", "--dense", "x"}, folder.path());
    EXPECT_EQ(twice.exit_code, 2);
    EXPECT_EQ(twice.err, "jali: 'x' is named for two outputs\n");
    EXPECT_TRUE(read_text(folder / "in.safetensors") == inputs);
    EXPECT_EQ(read_text(folder / "spec.json"), spec);
    EXPECT_THAT(folder.names(), testing::UnorderedElementsAre("in.safetensors", "spec.json"));
}

TEST(Sizes, BeyondAnyMachineAreRefusedAtOnce) {
    for (const char* subcommand : {"bench", "check"}) {
        const Ran ran =
            run_jali({subcommand, "q >= kv", "--q-len", "16", "--batch", "1073741824", "--heads", "1073741824"});
        EXPECT_EQ(ran.exit_code, 2);
        EXPECT_THAT(ran.err, testing::AnyOf(HasSubstr("but this machine has"), HasSubstr("do not fit in 64 bits")));
    }
    const Ran counted = run_jali({"mask", "True", "--q-len", "1000000", "--batch", "100", "--heads", "1000000"});
    EXPECT_EQ(counted.exit_code, 2);
    EXPECT_THAT(counted.err, HasSubstr("do not fit in 64 bits"));
}

class Interruption : public testing::TestWithParam<int> {};

// Waits until a megabyte of a new file is there: the probe for a writable place, which comes and goes before, is empty.
bool writing_has_begun(const TemporaryFolder& folder) {
    for (int i = 0; i < 3000; ++i) {
        std::error_code gone;
        for (const std::string& name : folder.names()) {
            const auto bytes = std::filesystem::file_size(folder / name, gone);
            if (!gone && bytes > 1 << 20) return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

TEST_P(Interruption, LeavesTheOldFileAndNoTemporary) {
    const TemporaryFolder folder;
    write_text(folder / "bits.npy", "old");
    // 2.5 GB: still being written when the signal comes.
    const pid_t child = start_jali({"mask", "q >= kv", "--q-len", "50000", "--dense", "bits.npy"}, folder.path());
    ASSERT_TRUE(writing_has_begun(folder)) << "not in 30 s";
    kill(child, GetParam());
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
    EXPECT_THAT(folder.names(), ElementsAre("bits.npy"));
    EXPECT_EQ(read_text(folder / "bits.npy"), "old");
}

TEST_P(Interruption, LeavesNothingWhereNothingWas) {
    const TemporaryFolder folder;
    const pid_t child = start_jali({"mask", "q >= kv", "--q-len", "50000", "--dense", "bits.npy"}, folder.path());
    ASSERT_TRUE(writing_has_begun(folder)) << "not in 30 s";
    kill(child, GetParam());
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
    EXPECT_THAT(folder.names(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(By, Interruption, testing::Values(SIGINT, SIGTERM, SIGHUP), [](const auto& signal) {
    return signal.param == SIGINT ? "SIGINT" : signal.param == SIGTERM ? "SIGTERM" : "SIGHUP";
});

#ifndef JALI_SANITIZED
TEST(Memory, ThatIsNotThereIsOneSentence) {
    const Ran ran = run_shell("ulimit -v 400000; jali bench 'q >= kv' --q-len 100000 --heads 16 --repeat 1");
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, "jali: there is not enough memory for this; jali info shows how much there is\n");
}
#endif

TEST(SlowProgress, ShowsABarOnATerminalAndErasesIt) {
    const Ran ran = run_jali_on_terminal({"mask", "q >= kv", "--q-len", "60000", "--sha256"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.err, HasSubstr("hashing  [#"));
    EXPECT_THAT(ran.err, testing::EndsWith("\r\033[K"));
    EXPECT_THAT(ran.out, testing::Not(HasSubstr("hashing")));
}

TEST(BrokenPipe, IsQuiet) {
    // `true` reads nothing; the code of the pipe's first command goes to a file.
    const TemporaryFolder folder;
    const Ran ran =
        run_shell("{ jali mask --spec '" + kMasksFile + "' --json; echo $? > code; } | true", folder.path());
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(read_text(folder / "code"), "0\n");
}

TEST(BrokenPipe, DoesNotHideAFailedCheck) {
    const TemporaryFolder folder;
    const Ran ran = run_shell("{ sleep 0.2; jali check 'q >= kv' --q-len 64 --flip 0,0,3,4; echo $? > code; } | true",
                              folder.path());
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(read_text(folder / "code"), "1\n");
}

}  // namespace
}  // namespace jali::test

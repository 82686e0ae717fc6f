#include "audit/assembler/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

using testing::HasSubstr;

ProcessResult shell(const std::string& line, double timeout_seconds = 60) {
    ProcessCall call;
    call.arguments = {"sh", "-c", line};
    call.timeout_seconds = timeout_seconds;
    return run_process(call);
}

// Whether it goes within a few seconds: the kernel takes its time.
bool goes_away(pid_t process) {
    for (int i = 0; i < 500; ++i) {
        if (kill(process, 0) != 0) return true;
        // Whoever adopts the orphan may be slow to collect it: a zombie runs no more.
        const std::string status = test::read_text("/proc/" + std::to_string(process) + "/stat");
        if (status.find(") Z ") != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

TEST(Process, ReturnsStatusAndBothOutputs) {
    const ProcessResult result = shell("echo out; echo err >&2; exit 7");
    EXPECT_EQ(result.exit_code, 7);
    EXPECT_EQ(result.output, "out\nerr\n");
    EXPECT_FALSE(result.timed_out);
    EXPECT_FALSE(result.succeeded());
    EXPECT_TRUE(shell("true").succeeded());
}

TEST(Process, EndedByASignalSaysWhich) {
    EXPECT_EQ(shell("kill -SEGV $$").signal, SIGSEGV);
    EXPECT_FALSE(shell("kill -SEGV $$").succeeded());
    EXPECT_EQ(shell("exit 255").signal, 0);
}

TEST(Process, ReadsNothing) {
    EXPECT_EQ(shell("cat; echo end").output, "end\n");
}

TEST(Process, RunsInItsFolderWithItsEnvironment) {
    const test::TemporaryFolder folder;
    ProcessCall call;
    call.arguments = {"sh", "-c", "pwd -P; echo \"$JALI_TEST_VARIABLE $HOME\""};
    call.folder = folder.path();
    call.environment = {{"JALI_TEST_VARIABLE", "value"}, {"HOME", "/elsewhere"}};
    EXPECT_EQ(run_process(call).output, std::filesystem::canonical(folder.path()).string() + "\nvalue /elsewhere\n");
}

TEST(Process, ThatIsNotThereIsAnError) {
    ProcessCall call;
    call.arguments = {"/nowhere/ptxas"};
    EXPECT_THAT(test::message_of<Error>([&] { run_process(call); }),
                HasSubstr("cannot run '/nowhere/ptxas': No such file"));
    call.arguments = {"jali-no-such-program"};
    EXPECT_THROW(run_process(call), Error);
}

TEST(Process, PastItsTimeIsKilledWithItsChildren) {
    const test::TemporaryFolder folder;
    const std::string file = folder / "child";
    const auto start = std::chrono::steady_clock::now();
    const ProcessResult result = shell("sleep 1000 & echo $! > " + file + "; echo before; wait", 0.5);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_TRUE(result.timed_out);
    EXPECT_FALSE(result.succeeded());
    EXPECT_EQ(result.output, "before\n");
    EXPECT_TRUE(goes_away(std::stoi(test::read_text(file))));
}

TEST(Process, ThatIgnoresSignalsIsKilledAllTheSame) {
    EXPECT_TRUE(shell("trap '' TERM INT HUP; while :; do sleep 1; done", 0.3).timed_out);
}

TEST(Process, ThatEndsTakesTheChildrenItLeftWithIt) {
    const auto start = std::chrono::steady_clock::now();
    const ProcessResult result = shell("sleep 1000 & echo $!");  // holds the output open
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_FALSE(result.timed_out);
    EXPECT_TRUE(result.succeeded());
    EXPECT_TRUE(goes_away(std::stoi(result.output)));
}

TEST(Process, GoesWithItsCallerAndSoDoItsChildren) {
    const test::TemporaryFolder folder;
    const std::string file = folder / "processes";
    const pid_t caller = fork();
    ASSERT_GE(caller, 0);
    if (caller == 0) {
        shell("sh -c 'sleep 1000' & echo $$ $! > " + file + ".new; mv " + file + ".new " + file + "; wait");
        _exit(0);
    }
    for (int i = 0; i < 1000 && !std::filesystem::exists(file); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(caller, SIGKILL);
    waitpid(caller, nullptr, 0);
    std::istringstream processes(test::read_text(file));
    pid_t program = 0, child = 0;
    ASSERT_TRUE(processes >> program >> child);
    EXPECT_TRUE(goes_away(program));
    EXPECT_TRUE(goes_away(child));
}

TEST(Process, ThatClosesItsOutputIsStillWaitedFor) {
    EXPECT_EQ(shell("exec >&- 2>&-; sleep 0.3; exit 5").exit_code, 5);
    EXPECT_TRUE(shell("exec >&- 2>&-; sleep 1000", 0.3).timed_out);
}

TEST(Process, OutputIsCutNotKept) {
    const ProcessResult result = shell("head -c 40000000 /dev/zero");
    EXPECT_TRUE(result.succeeded());
    EXPECT_EQ(result.output.size(), size_t{16} << 20);
}

TEST(Process, IsLookedAfterWhileItRuns) {
    ProcessCall call;
    call.arguments = {"sleep", "0.7"};
    int looks = 0;
    call.while_running = [&] { ++looks; };
    run_process(call);
    EXPECT_GE(looks, 2);
}

TEST(ProcessThreads, RunManyAtOnce) {
    std::vector<std::thread> threads;
    std::vector<int> codes(16);
    for (int i = 0; i < 16; ++i) {
        threads.emplace_back(
            [i, &codes] { codes[static_cast<size_t>(i)] = shell("exit " + std::to_string(i)).exit_code; });
    }
    for (std::thread& thread : threads) thread.join();
    for (int i = 0; i < 16; ++i) EXPECT_EQ(codes[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace jali::audit

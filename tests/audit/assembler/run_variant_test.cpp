#include "audit/assembler/run_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "audit/assembler/fake_tools.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

using testing::HasSubstr;

constexpr const char* kPtx = ".version 8.0\n.target sm_90\n";

class RunVariant : public testing::Test {
   protected:
    Made run(const std::string& body, double timeout_seconds = 60, Route route = Route::kDirect) {
        write_fake_ptxas(isolated_.path(), "99.1.7", "9.9", body);
        Variant variant;
        variant.assembler.ptxas = isolated_ / "ptxas";
        variant.assembler.nvlink = isolated_ / "nvlink";
        variant.options = {"-O3"};
        variant.arch = "sm_90";
        variant.route = route;
        return run_variant(kPtx, variant, timeout_seconds);
    }

    Isolated isolated_;
    // Temporary files are counted here.
    ScopedVariable temporaries_{"TMPDIR", isolated_.programs().string()};
};

TEST_F(RunVariant, HandsOverThePtxAndTakesTheCubin) {
    const Made made = run("cat kernel.ptx > \"$output\"; echo a word; echo another >&2");
    EXPECT_EQ(made.message, "");
    EXPECT_EQ(std::string(made.assembly.cubin.begin(), made.assembly.cubin.end()), kPtx);
    EXPECT_EQ(made.assembly.log, "a word\nanother\n");
    EXPECT_GT(made.assembly.milliseconds, 0);
}

TEST_F(RunVariant, FailsInTheAssemblersWords) {
    const Made made =
        run("echo 'ptxas info    : 0 bytes gmem'\n"
            "echo \"ptxas kernel.ptx, line 9; error   : Unknown symbol 'x'\" >&2\n"
            "echo 'ptxas fatal   : Ptx assembly aborted due to errors' >&2; exit 255");
    EXPECT_EQ(made.message,
              "ptxas kernel.ptx, line 9; error   : Unknown symbol 'x'\n"
              "ptxas fatal   : Ptx assembly aborted due to errors");
}

TEST_F(RunVariant, FailsInFewWords) {
    const Made made =
        run("for line in 1 2 3 4 5 6 7 8 9; do echo \"ptxas kernel.ptx, line $line; error   : wrong\"; done\n"
            "echo 'ptxas fatal   : Ptx assembly aborted due to errors'; exit 255");
    EXPECT_THAT(made.message, HasSubstr("line 5; error   : wrong\n(and 4 more)\nptxas fatal"));
    EXPECT_THAT(made.message, testing::Not(HasSubstr("line 6;")));
    EXPECT_LT(run("head -c 100000 /dev/zero | tr '\\\\0' x; exit 1").message.size(), 5000u);
}

TEST_F(RunVariant, FailsInAnyWordsThatThereAre) {
    EXPECT_EQ(run("echo 'libfoo.so: cannot open'; exit 127").message, "libfoo.so: cannot open");
    EXPECT_EQ(run("exit 3").message, "ptxas failed with status 3 and no word");
    EXPECT_EQ(run("echo last; kill -SEGV $$").message, "ptxas was ended by signal 11\nlast");
    EXPECT_EQ(run("exit 0").message, "the assembler said that it worked and wrote nothing");
}

TEST_F(RunVariant, IsStoppedPastItsTime) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(run("sleep 1000 & wait", 1).message, "ptxas was stopped after 1 seconds");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(RunVariant, LeavesNoTemporaryFile) {
    run("echo x > \"$output\"; echo y > more");
    run("exit 1");
    run("sleep 1000", 0.3);
    EXPECT_TRUE(std::filesystem::is_empty(isolated_.programs()));
}

TEST_F(RunVariant, LinksWhatWasCompiledRelocatable) {
    write_script(isolated_ / "nvlink", "for output; do :; done; (cat kernel.o; echo linked \"$1\") > \"$output\"");
    const Made made = run("echo object > \"$output\"", 60, Route::kLinked);
    EXPECT_EQ(made.message, "");
    EXPECT_EQ(std::string(made.assembly.cubin.begin(), made.assembly.cubin.end()), "object\nlinked -arch=sm_90\n");
}

TEST_F(RunVariant, FailsInTheLinkersWords) {
    write_script(isolated_ / "nvlink", "echo \"nvlink error   : Undefined reference to 'f'\"; exit 255");
    EXPECT_EQ(run("echo object > \"$output\"", 60, Route::kLinked).message,
              "nvlink error   : Undefined reference to 'f'");
}

TEST_F(RunVariant, WhoseAssemblerIsGoneThrows) {
    Variant variant;
    variant.assembler.ptxas = isolated_ / "gone";
    EXPECT_THAT(test::message_of<Error>([&] { run_variant(kPtx, variant, 1); }), HasSubstr("gone': No such file"));
}

}  // namespace
}  // namespace jali::audit

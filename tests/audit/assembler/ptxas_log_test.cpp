#include "audit/assembler/ptxas_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jali::audit {
namespace {

using testing::ElementsAre;

// In the words of ptxas 12.4 to 13.5; the names are ours.
constexpr const char* kLog = R"(ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ill formed pipeline stage in the function 'second'
ptxas info    : (C7517) warpgroup.wait is injected in around line 12 by compiler to allow use of registers defined by GMMA in function 'first'
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for helper
    64 bytes stack frame, 32 bytes spill stores, 32 bytes spill loads
ptxas info    : Function properties for first
    152 bytes stack frame, 204 bytes spill stores, 208 bytes spill loads
ptxas info    : Used 128 registers, used 4 barriers, 152 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 10.6 ms
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers
ptxas warning : Unresolved extern variable 'x' in whole program compilation, ignoring extern qualifier
)";

TEST(PtxasLog, HasTheFiguresOfEachKernel) {
    const PtxasLog log = parse_ptxas_log(kLog);
    ASSERT_EQ(log.kernels.size(), 2u);
    const auto first = std::ranges::find(log.kernels, "first", &ReportedKernel::name);
    const auto second = std::ranges::find(log.kernels, "second", &ReportedKernel::name);
    ASSERT_NE(first, log.kernels.end());
    ASSERT_NE(second, log.kernels.end());
    EXPECT_EQ(first->registers, 128);
    EXPECT_EQ(first->barriers, 4);
    EXPECT_EQ(first->stack_bytes, 152);
    EXPECT_EQ(first->spill_store_bytes, 204);
    EXPECT_EQ(first->spill_load_bytes, 208);
    EXPECT_EQ(second->registers, 8);
    EXPECT_EQ(second->barriers, -1);
    EXPECT_EQ(second->spill_store_bytes, 0);
}

TEST(PtxasLog, GivesNotesToTheKernelsThatTheyName) {
    const PtxasLog log = parse_ptxas_log(kLog);
    std::vector<Kernel> kernels(2);
    kernels[0].name = "first";
    kernels[1].name = "second";
    apply_log(log, kernels);
    EXPECT_THAT(kernels[0].notes, ElementsAre(testing::StartsWith("C7517: warpgroup.wait is injected")));
    EXPECT_EQ(kernels[0].serialisation, Serialisation::kNone);
    EXPECT_THAT(kernels[1].notes, ElementsAre(testing::StartsWith("C7510: Potential Performance Loss")));
    EXPECT_EQ(kernels[1].serialisation, Serialisation::kNoted);
}

TEST(PtxasLog, OverrulesWhatWasObservedWhereNothingWasNoted) {
    std::vector<Kernel> kernels(1);
    kernels[0].name = "first";
    kernels[0].serialisation = Serialisation::kObserved;
    apply_log(parse_ptxas_log(kLog), kernels);
    EXPECT_EQ(kernels[0].serialisation, Serialisation::kNone);
}

TEST(PtxasLog, GivesNotesWithoutANameToTheOnlyKernel) {
    const std::string note =
        "ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility across "
        "compilation units.\n";
    const std::string one = note + "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n";
    const PtxasLog alone = parse_ptxas_log(one);
    ASSERT_EQ(alone.kernels.size(), 1u);
    EXPECT_THAT(alone.kernels[0].notes, ElementsAre(testing::StartsWith("C7504: Potential Performance Loss: 'setm")));
    EXPECT_THAT(alone.notes, ElementsAre());
    const PtxasLog several = parse_ptxas_log(one + "ptxas info    : Compiling entry function 'l' for 'sm_90a'\n");
    EXPECT_THAT(several.notes, ElementsAre(testing::StartsWith("C7504: ")));
    EXPECT_THAT(several.kernels[0].notes, ElementsAre());
}

TEST(PtxasLog, KeepsComplaintsWhole) {
    EXPECT_THAT(parse_ptxas_log(kLog).complaints, ElementsAre(testing::StartsWith("ptxas warning : Unresolved")));
    const PtxasLog failed = parse_ptxas_log(
        "ptxas kernel.ptx, line 9; error   : Unknown symbol 'a : b'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
        "nvlink error   : Undefined reference to 'f'\n");
    EXPECT_THAT(failed.complaints, ElementsAre("ptxas kernel.ptx, line 9; error   : Unknown symbol 'a : b'",
                                               "ptxas fatal   : Ptx assembly aborted due to errors",
                                               "nvlink error   : Undefined reference to 'f'"));
}

TEST(PtxasLog, OfNonsenseIsEmpty) {
    for (const char* text : {"", "\n\n", "ptxas", "ptxas info", "ptxas info    :", "(C", "(C1", "bytes stack frame",
                             "ptxas info : Compiling entry function '", "ptxas info : Used x registers",
                             "99999999999999999999999 bytes stack frame"}) {
        EXPECT_TRUE(parse_ptxas_log(text).kernels.empty()) << text;
    }
}

TEST(SerialisationNotes, AreKnownByNumberOrWords) {
    EXPECT_TRUE(says_serialised("C7510: anything"));
    EXPECT_TRUE(says_serialised("C7515: anything"));
    EXPECT_TRUE(says_serialised("C7599: wgmma.mma_async instructions are serialized due to something new"));
    EXPECT_FALSE(says_serialised("C7516: anything"));
    EXPECT_FALSE(says_serialised("C7519: warpgroup.arrive is injected"));
}

}  // namespace
}  // namespace jali::audit

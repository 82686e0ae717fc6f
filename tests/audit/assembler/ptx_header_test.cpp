#include "audit/assembler/ptx_header.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace jali::audit {
namespace {

constexpr const char* kPtx = R"(//
// .version 1.0 of a comment is none
/* nor .target sm_10 */
.version 9.4
.target sm_100a, texmode_independent
.address_size 64
.visible .entry k() { ret; }
)";

TEST(PtxHeader, IsReadPastComments) {
    const PtxHeader header = read_ptx_header(kPtx);
    EXPECT_EQ(header.version, "9.4");
    EXPECT_EQ(header.target, "sm_100a");
}

TEST(PtxHeader, MayBeMissing) {
    for (const char* text : {"", "   ", "// all comment", "/* open", ".version", "hello world"}) {
        EXPECT_EQ(read_ptx_header(text).version, "") << text;
        EXPECT_EQ(read_ptx_header(text).target, "") << text;
    }
}

TEST(PtxHeader, IsExchangedLineForLine) {
    const std::string lowered = with_ptx_version(kPtx, "8.7");
    EXPECT_EQ(read_ptx_header(lowered).version, "8.7");
    EXPECT_EQ(std::ranges::count(lowered, '\n'), std::ranges::count(std::string(kPtx), '\n'));
    EXPECT_EQ(with_ptx_version(lowered, "9.4"), kPtx);
    EXPECT_EQ(with_ptx_target(with_ptx_target(kPtx, "sm_103a"), "sm_100a"), kPtx);
    EXPECT_EQ(with_ptx_version("no header", "9.0"), "no header");
}

TEST(PtxTarget, OfANumberGoesToItselfAndLaterOnes) {
    EXPECT_TRUE(can_target("sm_80", "sm_80"));
    EXPECT_TRUE(can_target("sm_80", "sm_90a"));
    EXPECT_TRUE(can_target("sm_90", "sm_120"));
    EXPECT_FALSE(can_target("sm_90", "sm_80"));
}

TEST(PtxTarget, OfOneArchitectureGoesToThatAlone) {
    EXPECT_TRUE(can_target("sm_90a", "sm_90a"));
    EXPECT_FALSE(can_target("sm_90a", "sm_90"));
    EXPECT_FALSE(can_target("sm_90a", "sm_100a"));
}

TEST(PtxTarget, OfAFamilyGoesToItsLaterMembers) {
    EXPECT_TRUE(can_target("sm_100f", "sm_103a"));
    EXPECT_TRUE(can_target("sm_100f", "sm_100f"));
    EXPECT_FALSE(can_target("sm_103f", "sm_100a"));
    EXPECT_FALSE(can_target("sm_100f", "sm_120a"));
}

TEST(PtxTarget, OfUnknownFormIsLeftToTheAssembler) {
    EXPECT_TRUE(can_target("texmode", "sm_90"));
    EXPECT_TRUE(can_target("sm_90", "compute_100"));
}

TEST(PreparedPtx, StaysAsItIsWhereTheAssemblerTakesIt) {
    const PreparedPtx prepared = prepare_ptx(kPtx, "", "9.4");
    EXPECT_EQ(prepared.text, kPtx);
    EXPECT_EQ(prepared.arch, "sm_100a");
    EXPECT_EQ(prepared.lowered_from, "");
    EXPECT_EQ(prepared.retargeted_from, "");
    EXPECT_EQ(prepare_ptx(kPtx, "", "").text, kPtx);
    EXPECT_EQ(prepare_ptx(kPtx, "", "10.0").text, kPtx);
}

TEST(PreparedPtx, IsLoweredToTheAssemblersNewest) {
    const PreparedPtx prepared = prepare_ptx(kPtx, "sm_100a", "8.8");
    EXPECT_EQ(read_ptx_header(prepared.text).version, "8.8");
    EXPECT_EQ(prepared.lowered_from, "9.4");
}

TEST(PreparedPtx, IsRetargetedOnlyWhereItMust) {
    const PreparedPtx other = prepare_ptx(kPtx, "sm_103a", "9.4");
    EXPECT_EQ(other.retargeted_from, "sm_100a");
    EXPECT_EQ(read_ptx_header(other.text).target, "sm_103a");
    const PreparedPtx later = prepare_ptx(".version 8.0\n.target sm_80\n", "sm_90a", "9.4");
    EXPECT_EQ(later.retargeted_from, "");
    EXPECT_EQ(later.arch, "sm_90a");
}

}  // namespace
}  // namespace jali::audit

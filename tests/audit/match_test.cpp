// Kernels are found again under their name, under a name with another hash, and by their shape.
#include "audit/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/made_kernels.h"
#include "jali/audit_compare.h"

namespace jali::audit::test {
namespace {

using testing::UnorderedElementsAre;

Audit audit_of(std::vector<Kernel> kernels) {
    Audit audit;
    audit.kernels = std::move(kernels);
    return audit;
}

// "before>after by".
std::vector<std::string> matches_of(const Audit& before, const Audit& after) {
    std::vector<std::string> texts;
    for (const Match& found : match(before, after)) {
        texts.push_back((found.before == nullptr ? "-" : found.before->name) + ">" +
                        (found.after == nullptr ? "-" : found.after->name) + " " + std::string(found.by));
    }
    return texts;
}

TEST(Match, IsByNameFirst) {
    EXPECT_THAT(
        matches_of(audit_of({made_kernel("a"), made_kernel("b")}), audit_of({made_kernel("b"), made_kernel("a")})),
        UnorderedElementsAre("a>a name", "b>b name"));
}

TEST(Match, NeedsTheSameArchitectureWhereSeveralAreThere) {
    Kernel hopper = made_kernel("k"), blackwell = made_kernel("k");
    blackwell.arch = "sm_100a";
    EXPECT_THAT(matches_of(audit_of({hopper, blackwell}), audit_of({blackwell})),
                UnorderedElementsAre("k>k name", "k>- "));
    EXPECT_THAT(matches_of(audit_of({hopper}), audit_of({blackwell})), UnorderedElementsAre("k>k name"));
}

TEST(Match, IsByNameWithoutHashesWhereThatIsUnique) {
    EXPECT_THAT(matches_of(audit_of({made_kernel("flash_0a1b2c3d4e_bwd"), made_kernel("copy_v2")}),
                           audit_of({made_kernel("flash_99e8d7c6b5_bwd"), made_kernel("copy_v13")})),
                UnorderedElementsAre("flash_0a1b2c3d4e_bwd>flash_99e8d7c6b5_bwd name without hashes",
                                     "copy_v2>copy_v13 name without hashes"));
}

TEST(Match, IsByShapeWhereNamesSayNothing) {
    Kernel large = made_kernel("triton_aa"), small = made_kernel("triton_bb");
    small.mix.total = 120;
    small.mix.floats = 10;
    Kernel large_now = large, small_now = small;
    large_now.name = "fused_x";
    large_now.mix.total = 1040;
    small_now.name = "fused_y";
    Kernel other = made_kernel("memset");
    other.threads_bound = 32;
    EXPECT_THAT(matches_of(audit_of({large, small}), audit_of({small_now, large_now, other})),
                UnorderedElementsAre("triton_aa>fused_x shape", "triton_bb>fused_y shape", "->memset "));
}

TEST(Match, PairsKernelsOfOneNameByTheirFile) {
    Kernel first = made_kernel("k"), second = made_kernel("k");
    first.origin = "old/a.cubin";
    second.origin = "old/b.cubin";
    second.registers = 64;
    Kernel first_now = first, second_now = second;
    first_now.origin = "new/deeper/a.cubin";
    second_now.origin = "new/deeper/b.cubin";
    first_now.code_sha256 = second_now.code_sha256 = "changed";
    const Audit before = audit_of({first, second}), after = audit_of({second_now, first_now});
    for (const Match& found : match(before, after)) {
        ASSERT_TRUE(found.before != nullptr && found.after != nullptr);
        EXPECT_EQ(found.before->registers, found.after->registers);
    }
}

TEST(Match, KeepsEveryKernelOnce) {
    std::vector<Kernel> many;
    for (int i = 0; i < 300; ++i) many.push_back(made_kernel("k"));
    const Audit before = audit_of(many), after = audit_of({made_kernel("k"), made_kernel("k")});
    EXPECT_EQ(match(before, after).size(), 300U);
}

}  // namespace
}  // namespace jali::audit::test

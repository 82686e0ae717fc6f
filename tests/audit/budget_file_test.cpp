// audit.toml: read with line and column, written with the user's part as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/made_kernels.h"
#include "jali/audit_budget.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kRules = R"(# Ours.
ratchet_figures = ["spill_bytes", "code_bytes"]

[[rule]]
kernel = "flash_*"   # the large ones
arch = "sm_90*"
spill_bytes = 64
serialised_wgmma = false

[[rule]]
kernel = "*"
registers = 255
)";

std::string error_of(const std::string& text) {
    try {
        parse_budget(text, "audit.toml");
    } catch (const FileError& error) {
        return error.what();
    }
    return "none";
}

TEST(BudgetFile, HoldsRulesInTheirOrder) {
    const Budget budget = parse_budget(kRules, "audit.toml");
    ASSERT_THAT(budget.rules, SizeIs(2));
    EXPECT_EQ(budget.rules[0].kernel, "flash_*");
    EXPECT_EQ(budget.rules[0].arch, "sm_90*");
    EXPECT_EQ(budget.rules[0].line, 4);
    EXPECT_EQ(budget.rules[0].limits, (Limits{.spill_bytes = 64, .serialised_wgmma = 0}));
    EXPECT_EQ(budget.rules[1].limits, (Limits{.registers = 255}));
    EXPECT_THAT(budget.ratchet_figures, ElementsAre("spill_bytes", "code_bytes"));
    EXPECT_THAT(budget.ratchet, IsEmpty());
}

TEST(BudgetFile, ComesBackAsItWasWithTheRatchetBelow) {
    Audit audit;
    audit.kernels = {made_kernel("b \"quoted\\\x01"), made_kernel("a")};
    audit.kernels[1].arch = "sm_100a";
    const Budget budget = updated(parse_budget(kRules, "audit.toml"), audit, Update::kTighten);
    const std::string text = budget_text(budget);
    EXPECT_THAT(text, StartsWith(std::string(kRules)));
    EXPECT_THAT(text, HasSubstr("\n\n[ratchet.\"sm_100a\".\"ptxas 13.0.88\"]\n\"a\" = { spill_bytes = 0, code_bytes = "
                                "16000 }\n"));
    const Budget again = parse_budget(text, "audit.toml");
    EXPECT_EQ(again.ratchet, budget.ratchet);
    EXPECT_EQ(budget_text(again), text);
}

TEST(BudgetFile, OfNoRulesIsNoError) {
    const Budget budget = parse_budget("", "audit.toml");
    EXPECT_THAT(budget.rules, IsEmpty());
    EXPECT_EQ(budget_text(budget), "");
    EXPECT_THAT(budget.ratchet_figures, ElementsAre("spill_bytes", "registers", "stack_bytes", "serialised_wgmma"));
}

TEST(BudgetFile, NamesLineAndColumnOfAnError) {
    EXPECT_THAT(error_of("[[rule]]\nkernel = \n"), StartsWith("audit.toml:2:10: "));
    EXPECT_EQ(error_of("[[rule]]\nkernel = \"a\"\nspills = 3\n"),
              "audit.toml:3:1: a rule has no 'spills'; it has kernel, arch, assembler, spill_bytes, registers, "
              "stack_bytes, code_bytes, serialised_wgmma");
    EXPECT_EQ(error_of("[[rule]]\nkernel = \"a\"\nregisters = -1\n"),
              "audit.toml:3:13: registers must be a whole number from 0 on");
    EXPECT_EQ(error_of("[[rule]]\nkernel = \"a\"\nregisters = 1.5\n"),
              "audit.toml:3:13: registers must be a whole number from 0 on");
    EXPECT_EQ(error_of("[[rule]]\nkernel = \"a\"\nstack_bytes = true\n"),
              "audit.toml:3:15: stack_bytes must be a whole number from 0 on");
    EXPECT_EQ(error_of("[[rule]]\nkernel = 3\n"), "audit.toml:2:10: kernel must be a pattern between quotes");
    EXPECT_EQ(error_of("[[rule]]\nregisters = 3\n"),
              "audit.toml:1:1: this rule names no kernel; kernel = \"*\" is all of them");
    EXPECT_THAT(error_of("\n[[rule]]\nkernel = \"a\"\n"), StartsWith("audit.toml:2:1: this rule limits nothing"));
    EXPECT_EQ(error_of("[rule]\nkernel = \"a\"\n"), "audit.toml:1:1: rules are written [[rule]], with two brackets");
    EXPECT_THAT(error_of("[[rules]]\nkernel = \"a\"\n"), HasSubstr("a budget has no 'rules'"));
    EXPECT_THAT(error_of("ratchet_figures = [\"bytes\"]\n"), StartsWith("audit.toml:1:20: ratchet_figures knows "));
    EXPECT_THAT(error_of("\xff"), StartsWith("audit.toml:1:1: "));
}

TEST(BudgetFile, LosesNothingOfTheUsersToAnUpdate) {
    const std::string marker = "# --- The ratchet: here\n";
    EXPECT_THAT(
        error_of("[[rule]]\nkernel = \"a\"\nregisters = 3\n" + marker + "[[rule]]\nkernel = \"b\"\nregisters = 3\n"),
        StartsWith("audit.toml:5:1: this rule stands below"));
    EXPECT_THAT(error_of("[ratchet.\"sm_90a\".\"ptxas 13\"]\n\"a\" = { registers = 3 }\n"),
                HasSubstr("the ratchet must stand below the line"));
    EXPECT_THAT(error_of(marker + "ratchet_figures = [\"registers\"]\n"), HasSubstr("must stand above"));
}

}  // namespace
}  // namespace jali::audit::test

// What a budget allows, and what the ratchet remembers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/made_kernels.h"
#include "jali/audit_budget.h"

namespace jali::audit::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Audit audit_of(std::vector<Kernel> kernels) {
    Audit audit;
    audit.kernels = std::move(kernels);
    return audit;
}

Kernel spilling(const std::string& name, int64_t instructions) {
    Kernel kernel = made_kernel(name);
    add_spills(kernel, instructions, instructions);
    return kernel;
}

TEST(Budget, LimitsEachFigure) {
    Kernel kernel = spilling("k", 2);
    kernel.serialisation = Serialisation::kObserved;
    const Audit audit = audit_of({kernel});
    Budget budget;
    budget.rules = {
        {.kernel = "k",
         .limits = {.spill_bytes = 15, .registers = 127, .stack_bytes = 7, .code_bytes = 15999, .serialised_wgmma = 0},
         .line = 3}};
    std::vector<std::string> sentences;
    for (const BudgetBreach& breach : check(audit, budget).breaches) sentences.push_back(breach.sentence());
    EXPECT_THAT(sentences, ElementsAre("spill_bytes is 16 and rule 'k' (line 3) allows 15",
                                       "registers is 128 and rule 'k' (line 3) allows 127",
                                       "stack_bytes is 8 and rule 'k' (line 3) allows 7",
                                       "code_bytes is 16000 and rule 'k' (line 3) allows 15999",
                                       "wgmma is serialised, which rule 'k' (line 3) does not allow"));
}

TEST(Budget, AllowsWhatIsJustReached) {
    const Audit audit = audit_of({spilling("k", 2)});
    Budget budget;
    budget.rules = {{.kernel = "k", .limits = {.spill_bytes = 16, .registers = 128, .stack_bytes = 8}}};
    EXPECT_THAT(check(audit, budget).breaches, IsEmpty());
}

TEST(Budget, TakesTheFirstRuleThatMatches) {
    const Audit audit = audit_of({spilling("flash_bwd", 4), spilling("copy", 1)});
    Budget budget;
    budget.rules = {{.kernel = "flash*", .limits = {.spill_bytes = 100}},
                    {.kernel = "*", .limits = {.spill_bytes = 0}}};
    const BudgetResult result = check(audit, budget);
    ASSERT_THAT(result.breaches, SizeIs(1));
    EXPECT_EQ(result.breaches[0].kernel->name, "copy");
    EXPECT_EQ(result.breaches[0].rule, &budget.rules[1]);
}

TEST(Budget, MatchesDemangledNamesArchitecturesAndAssemblers) {
    Kernel kernel = spilling("_Z5flashv", 1);
    kernel.demangled = "flash()";
    const Audit audit = audit_of({kernel});
    const auto breaches_with = [&](const BudgetRule& rule) {
        Budget budget;
        budget.rules = {rule};
        return check(audit, budget).breaches.size();
    };
    EXPECT_EQ(breaches_with({.kernel = "flash(*", .limits = {.spill_bytes = 0}}), 1U);
    EXPECT_EQ(breaches_with({.kernel = "*", .arch = "sm_90*", .limits = {.spill_bytes = 0}}), 1U);
    EXPECT_EQ(breaches_with({.kernel = "*", .arch = "sm_100*", .limits = {.spill_bytes = 0}}), 0U);
    EXPECT_EQ(breaches_with({.kernel = "*", .assembler = "ptxas 13.*", .limits = {.spill_bytes = 0}}), 1U);
    EXPECT_EQ(breaches_with({.kernel = "*", .assembler = "ptxas 12.*", .limits = {.spill_bytes = 0}}), 0U);
}

TEST(Budget, ReportsWhatNothingCoversAndWhatCoversNothing) {
    const Audit audit = audit_of({made_kernel("a"), made_kernel("b"), made_kernel("c")});
    Budget budget;
    budget.rules = {{.kernel = "a", .limits = {.spill_bytes = 0}}, {.kernel = "z", .limits = {.spill_bytes = 0}}};
    budget.ratchet = {{"b", "sm_90a", "ptxas 13.0.88", {.spill_bytes = 0}}, {"gone", "sm_90a", "ptxas 13.0.88", {}}};
    const BudgetResult result = check(audit, budget);
    ASSERT_THAT(result.uncovered, SizeIs(1));
    EXPECT_EQ(result.uncovered[0]->name, "c");
    ASSERT_THAT(result.idle, SizeIs(1));
    EXPECT_EQ(result.idle[0]->kernel, "z");
    ASSERT_THAT(result.missing, SizeIs(1));
    EXPECT_EQ(result.missing[0]->kernel, "gone");
}

Budget ratchet_of(const std::vector<Kernel>& kernels) {
    Budget budget;
    budget.ratchet_figures = default_ratchet_figures();
    return updated(budget, audit_of(kernels), Update::kTighten);
}

TEST(Ratchet, RemembersWhatWasReached) {
    const Budget budget = ratchet_of({spilling("k", 2)});
    EXPECT_THAT(budget.ratchet, ElementsAre(RatchetEntry{
                                    "k",
                                    "sm_90a",
                                    "ptxas 13.0.88",
                                    {.spill_bytes = 16, .registers = 128, .stack_bytes = 8, .serialised_wgmma = 0}}));
}

TEST(Ratchet, IsBreachedByWhatGotWorse) {
    const Budget budget = ratchet_of({spilling("k", 2)});
    const Audit worse = audit_of({spilling("k", 3)}), better = audit_of({spilling("k", 1)});
    const BudgetResult result = check(worse, budget);
    ASSERT_THAT(result.breaches, SizeIs(2));
    EXPECT_EQ(result.breaches[0].sentence(), "spill_bytes is 24 and the ratchet allows 16");
    EXPECT_THAT(check(better, budget).breaches, IsEmpty());
}

TEST(Ratchet, HoldsAgainstARuleThatAllowsMore) {
    Budget budget = ratchet_of({spilling("k", 2)});
    budget.rules = {{.kernel = "*", .limits = {.spill_bytes = 1000}}};
    EXPECT_THAT(check(audit_of({spilling("k", 3)}), budget).breaches, SizeIs(2));
}

TEST(Ratchet, OnlyEverTightens) {
    Budget budget = ratchet_of({spilling("k", 2), made_kernel("gone")});
    budget = updated(budget, audit_of({spilling("k", 5)}), Update::kTighten);
    ASSERT_THAT(budget.ratchet, SizeIs(2));
    EXPECT_EQ(budget.ratchet[0].kernel, "gone");
    EXPECT_EQ(budget.ratchet[1].limits.spill_bytes, 16);
    budget = updated(budget, audit_of({spilling("k", 1), made_kernel("new")}), Update::kTighten);
    ASSERT_THAT(budget.ratchet, SizeIs(3));
    EXPECT_EQ(budget.ratchet[1].limits.spill_bytes, 8);
}

TEST(Ratchet, LoosensWhenTold) {
    Budget budget = ratchet_of({spilling("k", 2), made_kernel("gone")});
    budget = updated(budget, audit_of({spilling("k", 5)}), Update::kLoosen);
    ASSERT_THAT(budget.ratchet, SizeIs(1));
    EXPECT_EQ(budget.ratchet[0].limits.spill_bytes, 40);
}

TEST(Ratchet, TakesTheWorstOfKernelsOfOneName) {
    const Budget budget = ratchet_of({spilling("k", 1), spilling("k", 3), spilling("k", 2)});
    ASSERT_THAT(budget.ratchet, SizeIs(1));
    EXPECT_EQ(budget.ratchet[0].limits.spill_bytes, 24);
}

TEST(Ratchet, KeepsFiguresThatAreNoLongerRemembered) {
    Budget budget = ratchet_of({spilling("k", 2)});
    budget.ratchet_figures = {"code_bytes"};
    budget = updated(budget, audit_of({spilling("k", 2)}), Update::kTighten);
    EXPECT_EQ(budget.ratchet[0].limits.code_bytes, 16000);
    EXPECT_EQ(budget.ratchet[0].limits.spill_bytes, 16);
}

}  // namespace
}  // namespace jali::audit::test

// What changed, ranked by what it is expected to cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "audit/made_kernels.h"
#include "jali/audit_compare.h"

namespace jali::audit::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Audit audit_of(std::vector<Kernel> kernels) {
    Audit audit;
    audit.kernels = std::move(kernels);
    return audit;
}

std::vector<std::string> names_of(const std::vector<KernelChange>& changes) {
    std::vector<std::string> names;
    for (const KernelChange& change : changes) {
        names.push_back((change.after == nullptr ? change.before : change.after)->name);
    }
    return names;
}

// A change of one kernel, which `change` makes.
template <typename Change>
KernelChange changed(const Change& change) {
    static std::vector<std::pair<Audit, Audit>> kept;  // what the pointers point into
    Kernel after = made_kernel("k");
    change_code(after, "changed");
    change(after);
    kept.emplace_back(audit_of({made_kernel("k")}), audit_of({after}));
    return compare(kept.back().first, kept.back().second).at(0);
}

TEST(Compare, FindsTheSameCodeTheSame) {
    const Audit before = audit_of({made_kernel("k")}), after = audit_of({made_kernel("k")});
    const auto changes = compare(before, after);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].verdict, Verdict::kSame);
    EXPECT_EQ(changes[0].line, "same code");
    EXPECT_EQ(changes[0].harm.total(), 0);
    EXPECT_FALSE(any_worse(changes));
}

TEST(Compare, NeverCallsCodeWithoutAHashTheSame) {
    Kernel kernel = made_kernel("k");
    kernel.code_sha256.clear();
    const Audit before = audit_of({kernel}), after = audit_of({kernel});
    EXPECT_EQ(compare(before, after)[0].verdict, Verdict::kDifferent);
}

TEST(Compare, RanksSerialisationThenLoopsThenSpills) {
    Kernel serialised = made_kernel("serialised"), longer = made_kernel("longer"), spilling = made_kernel("spilling"),
           shorter = made_kernel("shorter"), moved = made_kernel("moved");
    const Audit before = audit_of({spilling, made_kernel("same"), shorter, longer, moved, serialised});
    serialised.serialisation = Serialisation::kObserved;
    longer.loops[0].instructions = 480;
    add_spills(spilling, 7, 4);
    shorter.loops[0].instructions = 300;
    for (Kernel* kernel : {&serialised, &longer, &shorter, &moved}) change_code(*kernel, "changed");
    const Audit after = audit_of({made_kernel("same"), spilling, longer, serialised, moved, shorter});
    const auto changes = compare(before, after);
    EXPECT_THAT(names_of(changes), ElementsAre("serialised", "longer", "spilling", "moved", "shorter", "same"));
    std::vector<Verdict> verdicts;
    for (const KernelChange& change : changes) verdicts.push_back(change.verdict);
    EXPECT_THAT(verdicts, ElementsAre(Verdict::kWorse, Verdict::kWorse, Verdict::kWorse, Verdict::kDifferent,
                                      Verdict::kBetter, Verdict::kSame));
    EXPECT_TRUE(any_worse(changes));
}

TEST(Compare, CallsAnyNewSpillWorseUnlessTheLoopsOutweighIt) {
    const KernelChange spill = changed([](Kernel& kernel) { add_spill(kernel, {.bytes = 4, .loop_depth = 0}); });
    EXPECT_LT(spill.harm.total(), 0.1);
    EXPECT_EQ(spill.verdict, Verdict::kWorse);
    const KernelChange outweighed = changed([](Kernel& kernel) {
        add_spill(kernel, {});
        kernel.loops[0].instructions = 250;
    });
    EXPECT_EQ(outweighed.verdict, Verdict::kBetter);
    EXPECT_THAT(outweighed.line, HasSubstr("spills 0/0 -> 4/0 B"));
}

TEST(Compare, WeighsASpillByItsDistanceFromTheDeepestLoop) {
    Kernel deep = made_kernel("deep"), shallow = made_kernel("shallow");
    for (Kernel* kernel : {&deep, &shallow}) {
        kernel->loops.push_back(
            {.begin = 4800, .end = 6400, .depth = 2, .innermost = true, .instructions = 100, .branches = 1});
    }
    add_spill(deep, {.loop_depth = 2});
    add_spill(shallow, {.loop_depth = 0});
    EXPECT_DOUBLE_EQ(loop_weighted_spills(deep), 1);
    EXPECT_DOUBLE_EQ(loop_weighted_spills(shallow), 0.01);
}

TEST(Compare, WeighsInstructionsByLoopDepth) {
    Kernel kernel = made_kernel("k");
    // 600 outside, 300 in the outer loop alone, 100 in the inner one.
    kernel.loops.push_back(
        {.begin = 4800, .end = 6400, .depth = 2, .innermost = true, .instructions = 100, .branches = 1});
    EXPECT_DOUBLE_EQ(loop_weighted_instructions(kernel), 600 + 10 * 300 + 100 * 100);
}

// The timed variants of docs/audit.md: expected and measured agree in sign and within a tenth of the time.
TEST(Compare, ExpectsAboutWhatWasMeasured) {
    struct Variant {
        bool serialised;
        int64_t spills, masked, full;
        double measured;  // against the default's
    };
    const Variant base{false, 16, 1319, 527, 1};
    const std::vector<Variant> variants = {{true, 17, 1374, 581, 1.18}, {true, 11, 1369, 585, 1.16},
                                           {false, 0, 1448, 489, 1.06}, {false, 172, 1454, 640, 1.45},
                                           {false, 66, 900, 527, 0.85}, {false, 0, 778, 525, 0.77}};
    const auto kernel_of = [](const Variant& variant) {
        Kernel kernel = made_kernel("k");
        kernel.mix.total = 4000;
        kernel.loops = {{.depth = 1, .innermost = true, .instructions = variant.masked},
                        {.depth = 1, .innermost = true, .instructions = variant.full}};
        add_spills(kernel, variant.spills, 0);
        if (variant.serialised) kernel.serialisation = Serialisation::kObserved;
        change_code(kernel, std::to_string(variant.masked));
        return kernel;
    };
    for (const Variant& variant : variants) {
        const Audit before = audit_of({kernel_of(base)}), after = audit_of({kernel_of(variant)});
        const double expected = compare(before, after)[0].harm.total() / 100;
        EXPECT_EQ(expected > 0, variant.measured > 1) << variant.masked;
        EXPECT_NEAR(expected, variant.measured - 1, 0.1) << variant.masked;
    }
}

TEST(Compare, SaysTheNumbersInOneLine) {
    const KernelChange change = changed([](Kernel& kernel) {
        add_spills(kernel, 2, 3);
        kernel.registers = 136;
        kernel.loops[0].instructions = 420;
        kernel.serialisation = Serialisation::kNoted;
    });
    EXPECT_EQ(change.line,
              "wgmma serialised, instructions by loop depth 4600 -> 4780 (+3.9 %), spills 0/0 -> 8/12 B, registers 128 "
              "-> 136, stack 0 -> 8 B");
}

TEST(Explain, NamesTheLinesThatSpill) {
    const KernelChange change = changed([](Kernel& kernel) {
        kernel.roles = {{.registers = 24, .begin = 0}, {.registers = 240, .begin = 1600}};
        add_spill(kernel, {.is_store = false, .bytes = 16, .file = "/src/flash.cu", .line = 1564, .role = 1});
    });
    EXPECT_THAT(change.explanations, Contains("spills 0/16 B at flash.cu:1564, loop depth 1, role 1 (240 registers)"));
}

TEST(Explain, NamesGrowthByKind) {
    const KernelChange change = changed([](Kernel& kernel) {
        kernel.mix.logic = 726;
        kernel.mix.imad_mov = 40;
        kernel.mix.total = 1766;
        kernel.mix.special = 3;
    });
    EXPECT_THAT(change.explanations,
                Contains("instructions 1000 -> 1766: logic (LOP3, SHF, PRMT) 0 -> 726, IMAD.MOV 0 -> 40"));
}

TEST(Explain, ShowsLoadDistances) {
    Kernel before = made_kernel("k"), after = made_kernel("k");
    before.global_loads = {.loads = 64, .median = 94, .under_8 = 2};
    after.global_loads = {.loads = 64, .median = 5, .under_8 = 60};
    change_code(after, "scheduled");
    const Audit old = audit_of({before}), now = audit_of({after});
    const KernelChange change = compare(old, now)[0];
    EXPECT_EQ(change.verdict, Verdict::kDifferent);  // shown, not judged
    EXPECT_THAT(change.explanations,
                Contains("global loads stand 94 -> 5 instructions before their first use in the middle, 2 -> 60 of 64 "
                         "under 8 (shown, not judged)"));
}

TEST(Explain, SeesPairsWhereThereWereScalars) {
    Kernel before = made_kernel("k"), after = made_kernel("k");
    const auto ptx_of = [](int scalars, int pairs) {
        std::string text = ".visible .entry k(\n)\n{\n";
        for (int i = 0; i < scalars; ++i) text += "    selp.b32 %r1, %r2, %r3, %p1;\n";
        for (int i = 0; i < pairs; ++i) text += "    @%p2 selp.b64 %rd1, %rd2, %rd3, %p1;\n";
        return text + "}\n.visible .entry other()\n{\n    selp.b64 %rd1, %rd2, %rd3, %p1;\n}\n";
    };
    before.ptx_text = ptx_of(64, 0);
    after.ptx_text = ptx_of(2, 31);
    change_code(after, "paired");
    const Audit old = audit_of({before}), now = audit_of({after});
    EXPECT_THAT(compare(old, now)[0].explanations,
                Contains("PTX has 64-bit pairs where it had scalars: selp of 64 bits 0 -> 31, of 32 bits 64 -> 2"));
    EXPECT_THAT(compare(now, old)[0].explanations, Not(Contains(HasSubstr("64-bit pairs"))));
}

}  // namespace
}  // namespace jali::audit::test

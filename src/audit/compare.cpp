#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/explain.h"
#include "audit/hot_spots.h"
#include "audit/kernel_text.h"
#include "audit/match.h"
#include "jali/audit_compare.h"

namespace jali::audit {

namespace {

// Fitted to the timed variants that docs/audit.md lists, in hundredths of the time.
constexpr double kOfSerialisation = 15;
constexpr double kOfDoubledLoops = 50;
// A few spill instructions hide behind other work; past some fifty a turn of the loop they no longer do.
constexpr double kOfLoopSpill = 0.06, kOfLoopSpillOnTop = 0.22, kHiddenLoopSpills = 50;
// Below this a change is not expected to be measurable.
constexpr double kMatters = 0.5;

int64_t deepest_loop(const Kernel& kernel) {
    int64_t depth = 0;
    for (const Loop& loop : kernel.loops) depth = std::max(depth, loop.depth);
    return depth;
}

double cost_of_spills(const Kernel& kernel) {
    const double spills = loop_weighted_spills(kernel);
    return kOfLoopSpill * spills + kOfLoopSpillOnTop * std::max(0.0, spills - kHiddenLoopSpills);
}

Harm harm_of(const Kernel& before, const Kernel& after) {
    Harm harm;
    const bool was = before.serialisation != Serialisation::kNone, is = after.serialisation != Serialisation::kNone;
    harm.serialisation = kOfSerialisation * (static_cast<double>(is) - static_cast<double>(was));
    const double old_loops = loop_weighted_instructions(before), new_loops = loop_weighted_instructions(after);
    if (old_loops > 0 && new_loops > 0) harm.loop_instructions = kOfDoubledLoops * std::log2(new_loops / old_loops);
    harm.spills = cost_of_spills(after) - cost_of_spills(before);
    return harm;
}

bool same_code(const Kernel& before, const Kernel& after) {
    return !before.code_sha256.empty() && before.code_sha256 == after.code_sha256 && before.arch == after.arch &&
           before.registers == after.registers && before.stack_bytes == after.stack_bytes;
}

Verdict verdict_of(const Kernel& before, const Kernel& after, const Harm& harm) {
    if (same_code(before, after)) return Verdict::kSame;
    const double total = harm.total();
    // More spilling is worse however little it weighs, unless what else changed outweighs it.
    if (total >= kMatters || (bytes_of(after.spills) > bytes_of(before.spills) && total > -kMatters))
        return Verdict::kWorse;
    if (total <= -kMatters || (bytes_of(after.spills) < bytes_of(before.spills) && total < kMatters))
        return Verdict::kBetter;
    return Verdict::kDifferent;
}

// The order of a report: worst first, then what came and went, then what is the same.
int rank_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kWorse:
            return 0;
        case Verdict::kBetter:
            return 2;
        case Verdict::kDifferent:
            return 1;
        case Verdict::kAdded:
            return 3;
        case Verdict::kRemoved:
            return 4;
        case Verdict::kSame:
            break;
    }
    return 5;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kSame:
            return "same";
        case Verdict::kBetter:
            return "better";
        case Verdict::kDifferent:
            return "different";
        case Verdict::kWorse:
            return "worse";
        case Verdict::kAdded:
            return "added";
        case Verdict::kRemoved:
            return "removed";
    }
    return "same";
}

double loop_weighted_instructions(const Kernel& kernel) {
    // A loop's instructions count those of the loops in it, so each level adds the step from the weight outside of it.
    auto count = static_cast<double>(kernel.mix.total);
    for (const Loop& loop : kernel.loops) {
        const int64_t step = depth_weight(loop.depth) - depth_weight(loop.depth - 1);
        count += static_cast<double>(step) * static_cast<double>(loop.instructions);
    }
    return count;
}

double loop_weighted_spills(const Kernel& kernel) {
    const auto weighted = static_cast<double>(kernel.spills_weighted.stores + kernel.spills_weighted.loads);
    return weighted / static_cast<double>(depth_weight(deepest_loop(kernel)));
}

std::vector<KernelChange> compare(const Audit& before, const Audit& after) {
    std::vector<KernelChange> changes;
    for (const Match& found : match(before, after)) {
        KernelChange change{found.before, found.after};
        change.matched_by = found.by;
        if (found.before == nullptr) {
            change.verdict = Verdict::kAdded;
        } else if (found.after == nullptr) {
            change.verdict = Verdict::kRemoved;
        } else {
            if (!same_code(*found.before, *found.after)) change.harm = harm_of(*found.before, *found.after);
            change.verdict = verdict_of(*found.before, *found.after, change.harm);
        }
        change.line = line_of(change);
        if (change.verdict != Verdict::kSame) change.explanations = explanations_of(change);
        changes.push_back(std::move(change));
    }
    std::stable_sort(changes.begin(), changes.end(), [](const KernelChange& a, const KernelChange& b) {
        const int left = rank_of(a.verdict), right = rank_of(b.verdict);
        return left != right ? left < right : a.harm.total() > b.harm.total();
    });
    return changes;
}

bool any_worse(const std::vector<KernelChange>& changes) {
    return std::any_of(changes.begin(), changes.end(),
                       [](const KernelChange& change) { return change.verdict == Verdict::kWorse; });
}

}  // namespace jali::audit

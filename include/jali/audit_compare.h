// What changed between two audits, ranked by how much it is expected to cost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

enum class Verdict {
    kSame,       // the same instructions
    kBetter,     // expected to run faster
    kDifferent,  // changed, with no harm to expect either way
    kWorse,      // expected to run slower
    kAdded,
    kRemoved,
};
std::string_view name_of(Verdict verdict);  // "same", "better", "different", "worse", "added", "removed"

// What the change is expected to cost, in hundredths of the kernel's time: positive is slower. A figure to rank by,
// fitted to 79 timed variants of one family of kernels (docs/audit.md); nothing was timed here.
struct Harm {
    double serialisation = 0;      // wgmma waited for one by one, or no longer
    double loop_instructions = 0;  // of the count weighted by loop depth
    double spills = 0;             // of the spill instructions weighted by loop depth

    double total() const { return serialisation + loop_instructions + spills; }
};

// One kernel of two audits. Pointers are into the audits compared; null where added or removed.
struct KernelChange {
    const Kernel* before = nullptr;
    const Kernel* after = nullptr;
    Verdict verdict = Verdict::kSame;
    Harm harm;
    std::string matched_by;                 // "name", "name without hashes", "shape"; empty where added or removed
    std::string line;                       // one line: what changed, in numbers
    std::vector<std::string> explanations;  // the first differences that matter, worst first
};

// Kernels are matched by architecture and name; then by name without hashes and numbers where that is unique on both
// sides; then by shape (threads, shared memory, barriers, roles and the closest instruction mix). Where the two audits
// hold one architecture each, and not the same, architectures are not compared. Worst first; what is the same, last.
std::vector<KernelChange> compare(const Audit& before, const Audit& after);

// Whether any kernel is expected to run slower.
bool any_worse(const std::vector<KernelChange>& changes);

// --- What the ranking reads; also of one kernel alone ---

// Every instruction times 10^depth of its loop (at most 10^4): the best predictor of time in docs/audit.md.
double loop_weighted_instructions(const Kernel& kernel);
// Spill instructions by depth, where one in the deepest loop counts 1, one loop further out 0.1, and so on.
double loop_weighted_spills(const Kernel& kernel);

}  // namespace jali::audit

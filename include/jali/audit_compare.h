// What changed between two audits, and whether an audit keeps to a budget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

enum class Verdict { kSame, kBetter, kDifferent, kWorse, kAdded, kRemoved };
std::string_view name_of(Verdict verdict);

// One kernel of two audits. Pointers are into the audits compared; null where added or removed.
struct KernelChange {
    const Kernel* before = nullptr;
    const Kernel* after = nullptr;
    Verdict verdict = Verdict::kSame;
    double harm = 0;                        // expected, for ranking; larger is worse (docs/audit.md has the evidence)
    std::string line;                       // one line: what changed, in numbers
    std::vector<std::string> explanations;  // the first differences that matter, worst first
};

// Matched by architecture and name, then by name without hashes and numbers where that is unique on both sides, then by
// shape. Ranked by harm.
std::vector<KernelChange> compare(const Audit& before, const Audit& after);

// A file of allowed figures: audit.toml.
struct BudgetRule {
    std::string pattern;  // shell glob over the name or demangled name; the first that matches counts
    std::string arch;     // glob; empty: any
    // -1: no limit.
    int64_t spill_bytes = -1, registers = -1, stack_bytes = -1, code_bytes = -1;
    bool allow_serialised_wgmma = false;
};
struct Budget {
    std::vector<BudgetRule> rules;
    std::vector<BudgetRule> ratchet;  // one a kernel, exact names: what was reached and may not get worse
};
Budget load_budget(const std::filesystem::path& path);  // throws FileError with line and column
void save_budget(const Budget& budget, const std::filesystem::path& path);

struct BudgetBreach {
    const Kernel* kernel = nullptr;
    std::string figure;  // "spill_bytes"
    int64_t value = 0, allowed = 0;
    std::string rule;
};
std::vector<BudgetBreach> breaches(const Audit& audit, const Budget& budget);
// The ratchet after this audit: figures only ever fall, unless `loosen`; kernels that are gone stay unless `loosen`.
Budget updated(const Budget& budget, const Audit& audit, bool loosen);

}  // namespace jali::audit

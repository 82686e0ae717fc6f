// What kernels may cost: a file of allowed figures, and a ratchet that remembers what was reached.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

// The figures that a budget limits. -1: no limit.
struct Limits {
    int64_t spill_bytes = -1;  // stores and loads together
    int64_t registers = -1;
    int64_t stack_bytes = -1;
    int64_t code_bytes = -1;
    int64_t serialised_wgmma = -1;  // 0: none allowed

    friend bool operator==(const Limits&, const Limits&) = default;
};
// Name, and where it stands, of each figure.
inline constexpr std::pair<std::string_view, int64_t Limits::*> kLimits[] = {
    {"spill_bytes", &Limits::spill_bytes},           {"registers", &Limits::registers},
    {"stack_bytes", &Limits::stack_bytes},           {"code_bytes", &Limits::code_bytes},
    {"serialised_wgmma", &Limits::serialised_wgmma},
};
// What a kernel has of each.
Limits figures_of(const Kernel& kernel);

// A [[rule]] of the user's. Patterns are globs: * and ?; empty: any.
struct BudgetRule {
    std::string kernel;  // over the name or the demangled name
    std::string arch, assembler;
    Limits limits;
    int64_t line = 0;  // of the file
};

// What one kernel reached, and may not get worse than.
struct RatchetEntry {
    std::string kernel, arch, assembler;  // exactly
    Limits limits;

    friend bool operator==(const RatchetEntry&, const RatchetEntry&) = default;
};

struct Budget {
    std::vector<BudgetRule> rules;             // the first that matches counts
    std::vector<std::string> ratchet_figures;  // names from kLimits: what an update remembers
    std::vector<RatchetEntry> ratchet;         // by arch, assembler, kernel
    std::string users_part;                    // of the file, kept byte for byte
};
// What is remembered where the file does not say: code size moves with every change, so it is not among them.
std::vector<std::string> default_ratchet_figures();

// Throws FileError ("audit.toml:7:1: ...") with line and column.
Budget load_budget(const std::filesystem::path& path);
Budget parse_budget(std::string_view text, const std::string& name);
// The user's part as it was, then the ratchet.
std::string budget_text(const Budget& budget);
// Replaces the file at once, or leaves it as it was. Throws FileError.
void save_budget(const Budget& budget, const std::filesystem::path& path);

struct BudgetBreach {
    const Kernel* kernel = nullptr;
    std::string_view figure;  // from kLimits
    int64_t value = 0, allowed = 0;
    const BudgetRule* rule = nullptr;  // null: the ratchet
    std::string sentence() const;      // "spill_bytes is 44, 0 allowed by rule 'flash_*' (line 3)"
};

struct BudgetResult {
    std::vector<BudgetBreach> breaches;        // in the order of the kernels
    std::vector<const Kernel*> uncovered;      // neither a rule nor the ratchet speaks of them
    std::vector<const BudgetRule*> idle;       // rules that match no kernel
    std::vector<const RatchetEntry*> missing;  // entries whose kernel is not in the audit
};
// Pointers are into the audit and the budget.
BudgetResult check(const Audit& audit, const Budget& budget);

enum class Update {
    kTighten,  // figures only ever fall, entries stay
    kLoosen,   // figures become what they are, entries of kernels that are gone go
};
// The ratchet after this audit. Of several kernels with one name, architecture and assembler the worst figure counts.
Budget updated(const Budget& budget, const Audit& audit, Update update);

}  // namespace jali::audit

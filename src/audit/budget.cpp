#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "audit/glob.h"
#include "audit/kernel_text.h"
#include "jali/audit_budget.h"

namespace jali::audit {

namespace {

using Key = std::tuple<std::string, std::string, std::string>;  // arch, assembler, kernel: the order of the file

Key key_of(const Kernel& kernel) {
    return {kernel.arch, kernel.assembler, kernel.name};
}
Key key_of(const RatchetEntry& entry) {
    return {entry.arch, entry.assembler, entry.kernel};
}

bool covers(const BudgetRule& rule, const Kernel& kernel) {
    const auto fits = [](std::string_view text, const std::string& pattern) {
        return pattern.empty() || matches_glob(text, pattern);
    };
    return fits(kernel.arch, rule.arch) && fits(kernel.assembler, rule.assembler) &&
           (fits(kernel.name, rule.kernel) || fits(kernel.demangled, rule.kernel));
}

void compare_to(const Limits& limits, const BudgetRule* rule, const Kernel& kernel,
                std::vector<BudgetBreach>& breaches) {
    const Limits figures = figures_of(kernel);
    for (const auto& [name, figure] : kLimits) {
        const int64_t allowed = limits.*figure, value = figures.*figure;
        if (allowed >= 0 && value > allowed) breaches.push_back({&kernel, name, value, allowed, rule});
    }
}

}  // namespace

Limits figures_of(const Kernel& kernel) {
    return {.spill_bytes = bytes_of(kernel.spills),
            .registers = kernel.registers,
            .stack_bytes = kernel.stack_bytes,
            .code_bytes = kernel.code_bytes,
            .serialised_wgmma = kernel.serialisation == Serialisation::kNone ? 0 : 1};
}

std::vector<std::string> default_ratchet_figures() {
    return {"spill_bytes", "registers", "stack_bytes", "serialised_wgmma"};
}

std::string BudgetBreach::sentence() const {
    const std::string by =
        rule == nullptr ? "the ratchet" : fmt::format("rule '{}' (line {})", rule->kernel, rule->line);
    if (figure == "serialised_wgmma") return fmt::format("wgmma is serialised, which {} does not allow", by);
    return fmt::format("{} is {} and {} allows {}", figure, value, by, allowed);
}

BudgetResult check(const Audit& audit, const Budget& budget) {
    std::map<Key, const RatchetEntry*> reached;
    for (const RatchetEntry& entry : budget.ratchet) reached.emplace(key_of(entry), &entry);
    std::vector<bool> used(budget.rules.size(), false);
    std::map<const RatchetEntry*, bool> seen;

    BudgetResult result;
    for (const Kernel& kernel : audit.kernels) {
        const auto rule = std::find_if(budget.rules.begin(), budget.rules.end(),
                                       [&](const BudgetRule& candidate) { return covers(candidate, kernel); });
        if (rule != budget.rules.end()) {
            used[static_cast<size_t>(rule - budget.rules.begin())] = true;
            compare_to(rule->limits, &*rule, kernel, result.breaches);
        }
        const auto entry = reached.find(key_of(kernel));
        if (entry != reached.end()) {
            seen[entry->second] = true;
            compare_to(entry->second->limits, nullptr, kernel, result.breaches);
        }
        if (rule == budget.rules.end() && entry == reached.end()) result.uncovered.push_back(&kernel);
    }
    for (size_t i = 0; i < used.size(); ++i) {
        if (!used[i]) result.idle.push_back(&budget.rules[i]);
    }
    for (const RatchetEntry& entry : budget.ratchet) {
        if (!seen.contains(&entry)) result.missing.push_back(&entry);
    }
    return result;
}

Budget updated(const Budget& budget, const Audit& audit, Update update) {
    std::map<Key, Limits> now;
    for (const Kernel& kernel : audit.kernels) {
        Limits& worst = now[key_of(kernel)];
        const Limits figures = figures_of(kernel);
        for (const std::string& name : budget.ratchet_figures) {
            for (const auto& [known, figure] : kLimits) {
                if (known == name) worst.*figure = std::max(worst.*figure, figures.*figure);
            }
        }
    }
    if (update == Update::kTighten) {
        for (const RatchetEntry& entry : budget.ratchet) {
            const auto [reached, fresh] = now.try_emplace(key_of(entry), entry.limits);
            if (fresh) continue;
            for (const auto& [name, figure] : kLimits) {
                int64_t& limit = reached->second.*figure;
                const int64_t before = entry.limits.*figure;
                if (before >= 0) limit = limit < 0 ? before : std::min(limit, before);
            }
        }
    }
    Budget result = budget;
    result.ratchet.clear();
    for (const auto& [key, limits] : now) {
        const auto& [arch, assembler, kernel] = key;
        result.ratchet.push_back({kernel, arch, assembler, limits});
    }
    return result;
}

}  // namespace jali::audit

#include <fmt/format.h>

#include "audit/html_kernel.h"
#include "audit/visible_text.h"

namespace jali::audit {
namespace {

constexpr size_t kNameWidth = 80;

void add_list(pugi::xml_node parent, const std::string& title, const std::vector<std::string>& names) {
    if (names.empty()) return;
    add(parent, "h3", title);
    pugi::xml_node list = add(parent, "ul");
    for (const std::string& name : names) add(list, "li", name);
}

}  // namespace

void add_check(pugi::xml_node parent, const BudgetResult& result) {
    add(parent, "h2",
        result.breaches.empty() ? "All within the budget"
                                : fmt::format("Figures over the budget: {}", result.breaches.size()));
    if (!result.breaches.empty()) {
        HtmlTable table(parent, {"kernel", "arch", "assembler", "figure", "value", "allowed", "over", "by"});
        for (const BudgetBreach& breach : result.breaches) {
            const std::string by = breach.rule == nullptr
                                       ? "ratchet"
                                       : fmt::format("rule '{}', line {}", breach.rule->kernel, breach.rule->line);
            table.add_row({text_cell(shortened(visible(full_name(*breach.kernel)), kNameWidth),
                                     full_name(*breach.kernel) + "\n" + breach.kernel->origin),
                           text_cell(breach.kernel->arch), text_cell(breach.kernel->assembler),
                           text_cell(std::string(breach.figure)), number_cell(breach.value, 1),
                           number_cell(breach.allowed), number_cell(breach.value - breach.allowed), text_cell(by)});
        }
    }
    std::vector<std::string> uncovered, idle, missing;
    for (const Kernel* kernel : result.uncovered)
        uncovered.push_back(fmt::format("{} ({}, {})", full_name(*kernel), kernel->arch, kernel->assembler));
    for (const BudgetRule* rule : result.idle) idle.push_back(fmt::format("'{}', line {}", rule->kernel, rule->line));
    for (const RatchetEntry* entry : result.missing)
        missing.push_back(fmt::format("{} ({}, {})", entry->kernel, entry->arch, entry->assembler));
    add_list(parent, "No rule speaks of", uncovered);
    add_list(parent, "Rules that match no kernel", idle);
    add_list(parent, "In the ratchet, and not here", missing);
}

}  // namespace jali::audit

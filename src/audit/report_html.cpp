#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/html_kernel.h"
#include "audit/html_page.h"
#include "audit/short_names.h"
#include "jali/audit_report.h"

namespace jali::audit {
namespace {

constexpr size_t kMostDetails = 200;
constexpr size_t kOpenDetails = 3;
constexpr size_t kMostChanges = 2000;

const std::string& shown_name(const Kernel& kernel) {
    return kernel.demangled.empty() ? kernel.name : kernel.demangled;
}

int64_t weighted_bytes(const Kernel& kernel) {
    return kernel.spills_weighted.store_bytes + kernel.spills_weighted.load_bytes;
}

void add_summary(pugi::xml_node main, const Report& report, const std::vector<const Kernel*>& kernels) {
    std::map<std::string, int64_t> assemblers;
    int64_t spilling = 0, serialised = 0, by_opcodes = 0;
    for (const Kernel* kernel : kernels) {
        ++assemblers[kernel->assembler.empty() ? "an assembler that the file does not name" : kernel->assembler];
        spilling += kernel->spills != Traffic{};
        serialised += kernel->serialisation != Serialisation::kNone;
        by_opcodes += kernel->spill_source == SpillSource::kOpcodes;
    }
    std::string by;
    for (const auto& [assembler, count] : assemblers)
        by += fmt::format("{}{} ({})", by.empty() ? "" : ", ", assembler, count);
    add(main, "p",
        fmt::format("Kernels: {}, by {}. Of them {} spill, and in {} wgmma is serialised.", kernels.size(),
                    by.empty() ? "none" : by, spilling, serialised));
    if (by_opcodes > 0) {
        add(main, "p",
            fmt::format("~ in {} kernels: their assembler lists no spills, so that they are told by opcodes and "
                        "may be fewer.",
                        by_opcodes),
            "faint");
    }
    if (report.audit.ptx_images > 0)
        add(main, "p", fmt::format("PTX images that were not assembled: {}.", report.audit.ptx_images), "faint");
    add(main, "p", "Bytes and counts are what the code holds, a thread; they are not times.", "faint");
}

void add_problems(pugi::xml_node main, const std::vector<Problem>& problems) {
    if (problems.empty()) return;
    add(main, "h2", fmt::format("What could not be read or assembled: {}", problems.size()));
    pugi::xml_node list = add(main, "ul");
    for (const Problem& problem : problems)
        add(list, "li", (problem.origin.empty() ? "" : problem.origin + ": ") + problem.sentence, "bad");
}

// The figures of a kernel before and after, as bars of one scale.
void add_bars(pugi::xml_node parent, const Kernel& before, const Kernel& after) {
    const auto spill_bytes = [](const Kernel& kernel) { return kernel.spills.store_bytes + kernel.spills.load_bytes; };
    const std::tuple<const char*, double, double> figures[] = {
        {"registers", static_cast<double>(before.registers), static_cast<double>(after.registers)},
        {"spill bytes", static_cast<double>(spill_bytes(before)), static_cast<double>(spill_bytes(after))},
        {"instructions by depth", loop_weighted_instructions(before), loop_weighted_instructions(after)}};
    HtmlTable table(parent, {"figure", "before", "after"});
    for (const auto& [name, old_value, new_value] : figures) {
        const double largest = std::max({old_value, new_value, 1.0});
        pugi::xml_node row = table.add_row({text_cell(name)});
        for (const bool is_after : {false, true}) {
            const double value = is_after ? new_value : old_value;
            pugi::xml_node cell = add(row, "td", {}, "text");
            set(add(cell, "span", {}, is_after ? "bar after" : "bar"), "style",
                fmt::format("width: {:.1f}rem", 12 * value / largest));
            add(cell, "span", fmt::format("{:.0f}", value));
        }
    }
}

void add_changes(pugi::xml_node main, const Report& report) {
    add(main, "h2", fmt::format("{} \u2192 {}", report.before_name, report.after_name));
    add(main, "p",
        "Ranked by what serialised wgmma, instructions in loops and spills by loop depth are expected to cost, in "
        "hundredths of the kernel's time. Nothing was timed.",
        "faint");
    size_t shown = 0, left_out = 0;
    for (const KernelChange& change : report.changes) {
        if (shown == kMostChanges) {
            ++left_out;
            continue;
        }
        const Kernel& kernel = *(change.after == nullptr ? change.before : change.after);
        const bool is_worse = change.verdict == Verdict::kWorse;
        pugi::xml_node block = add(main, "details");
        if (is_worse && shown < kOpenDetails) set(block, "open", "open");
        pugi::xml_node summary = add(block, "summary");
        const double harm = change.harm.total();
        add(summary, "span",
            fmt::format("{}{}", name_of(change.verdict), harm == 0 ? "" : fmt::format(" {:+.1f}", harm)),
            is_worse ? "bad" : nullptr);
        add(summary, "span", fmt::format("  {}: {}", shown_name(kernel), change.line));
        if (change.before != nullptr && change.after != nullptr) add_bars(block, *change.before, *change.after);
        pugi::xml_node list = add(block, "ul");
        for (const std::string& sentence : change.explanations) add(list, "li", sentence);
        ++shown;
    }
    if (left_out > 0) add(main, "p", fmt::format("and {} more, expected to cost less than these", left_out));
}

void add_check(pugi::xml_node main, const BudgetResult& result) {
    add(main, "h2",
        result.breaches.empty() ? "All within the budget"
                                : fmt::format("{} figures over the budget", result.breaches.size()));
    if (!result.breaches.empty()) {
        HtmlTable table(main, {"kernel", "arch", "assembler", "figure", "value", "allowed", "by"});
        for (const BudgetBreach& breach : result.breaches) {
            const std::string by = breach.rule == nullptr
                                       ? "ratchet"
                                       : fmt::format("rule '{}', line {}", breach.rule->kernel, breach.rule->line);
            table.add_row({text_cell(shown_name(*breach.kernel), breach.kernel->origin), text_cell(breach.kernel->arch),
                           text_cell(breach.kernel->assembler), text_cell(std::string(breach.figure)),
                           number_cell(breach.value, 1), number_cell(breach.allowed), text_cell(by)});
        }
    }
    const auto add_list = [&](const std::string& title, const std::vector<std::string>& names) {
        if (names.empty()) return;
        add(main, "h3", title);
        pugi::xml_node list = add(main, "ul");
        for (const std::string& name : names) add(list, "li", name);
    };
    std::vector<std::string> uncovered, idle, missing;
    for (const Kernel* kernel : result.uncovered)
        uncovered.push_back(fmt::format("{} ({}, {})", shown_name(*kernel), kernel->arch, kernel->assembler));
    for (const BudgetRule* rule : result.idle) idle.push_back(fmt::format("'{}', line {}", rule->kernel, rule->line));
    for (const RatchetEntry* entry : result.missing)
        missing.push_back(fmt::format("{} ({}, {})", entry->kernel, entry->arch, entry->assembler));
    add_list("No rule speaks of", uncovered);
    add_list("Rules that match no kernel", idle);
    add_list("In the ratchet, and not here", missing);
}

void add_details(pugi::xml_node main, const Report& report, std::vector<const Kernel*> kernels) {
    const size_t all = kernels.size();
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const Kernel* a, const Kernel* b) { return weighted_bytes(*a) > weighted_bytes(*b); });
    kernels.resize(std::min(all, kMostDetails));
    if (kernels.empty()) return;
    add(main, "h2",
        all == kernels.size()
            ? std::string("Each kernel, the heaviest spills by loop depth first")
            : fmt::format("The {} of {} kernels with the heaviest spills by loop depth", kernels.size(), all));
    SourceFiles files(report.source_roots);
    for (size_t i = 0; i < kernels.size(); ++i)
        add_kernel_details(main, *kernels[i], i < kOpenDetails && weighted_bytes(*kernels[i]) > 0, files);
}

}  // namespace

std::string html_report(const Report& report) {
    HtmlPage page(report.title);
    const std::vector<const Kernel*> kernels = kernels_of(report);
    add_summary(page.main(), report, kernels);
    if (report.kind == ReportKind::kDiff) add_changes(page.main(), report);
    if (report.kind == ReportKind::kCheck) add_check(page.main(), report.result);
    add_matrix(page.main(), report.assembled);
    add(page.main(), "h2", "Kernels");
    add_kernel_table(page.main(), kernels, report.device_names);
    add_details(page.main(), report, kernels);
    add_problems(page.main(), problems_of(report));
    return page.text();
}

}  // namespace jali::audit

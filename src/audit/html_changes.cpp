#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/html_kernel.h"
#include "audit/short_names.h"

namespace jali::audit {
namespace {

constexpr size_t kMostExplained = 200;
constexpr size_t kOpen = 3;
constexpr size_t kNameWidth = 56;

// What is compared as bars. Nothing where there is no such kernel.
struct Figure {
    const char* name;
    double (*of)(const Kernel& kernel);
};
constexpr std::array<Figure, 4> kFigures = {{
    {"registers", [](const Kernel& kernel) { return static_cast<double>(kernel.registers); }},
    {"spill bytes", [](const Kernel& kernel) { return static_cast<double>(bytes_of(kernel.spills)); }},
    {"spill bytes by depth",
     [](const Kernel& kernel) { return static_cast<double>(bytes_of(kernel.spills_weighted)); }},
    {"instructions by depth", [](const Kernel& kernel) { return loop_weighted_instructions(kernel); }},
}};

const Kernel& named(const KernelChange& change) {
    return *(change.after == nullptr ? change.before : change.after);
}

const char* class_of(Verdict verdict) {
    if (verdict == Verdict::kWorse) return "bad";
    return verdict == Verdict::kBetter ? "good" : nullptr;
}

// The change as a share of what was there: 0 where nothing changed, 1 where it doubled or came out of nothing.
double heat_of_change(double before, double after) {
    const double larger = std::max({before, after, 1.0});
    return std::clamp((after - before) / larger, -1.0, 1.0);
}

Cell change_cell(const KernelChange& change, const Figure& figure) {
    Cell cell;
    if (change.before == nullptr || change.after == nullptr) {
        cell.text = fmt::format("{:.0f}", figure.of(named(change)));
        return cell;
    }
    const double before = figure.of(*change.before), after = figure.of(*change.after);
    cell.text = before == after ? fmt::format("{:.0f}", after) : fmt::format("{:.0f} \u2192 {:.0f}", before, after);
    cell.sort_by = after - before;
    cell.heat = heat_of_change(before, after);
    return cell;
}

void add_change_table(pugi::xml_node parent, const std::vector<KernelChange>& changes,
                      const std::vector<std::string>& names) {
    std::vector<std::string> heading = {"kernel", "verdict", "harm"};
    for (const Figure& figure : kFigures) heading.emplace_back(figure.name);
    HtmlTable table(parent, heading);
    for (size_t i = 0; i < changes.size(); ++i) {
        const KernelChange& change = changes[i];
        const double harm = std::isfinite(change.harm.total()) ? change.harm.total() : 0;
        const bool is_explained = i < kMostExplained && change.verdict != Verdict::kSame;
        const std::string& full = full_name(named(change));
        std::vector<Cell> cells = {
            text_cell(names[i], full == names[i] ? "" : full, is_explained ? fmt::format("#c{}", i + 1) : ""),
            text_cell(std::string(name_of(change.verdict))),
            {.text = harm == 0 ? "-" : fmt::format("{:+.1f}", harm),
             .sort_by = harm,
             .heat = change.verdict == Verdict::kWorse    ? 1.0
                     : change.verdict == Verdict::kBetter ? -1.0
                                                          : 0.0,
             .title = {},
             .link = {}}};
        for (const Figure& figure : kFigures) cells.push_back(change_cell(change, figure));
        table.add_row(cells);
    }
}

void add_figure(HtmlTable& table, const Figure& figure, const KernelChange& change) {
    const double before = figure.of(*change.before), after = figure.of(*change.after);
    const double largest = std::max({before, after, 1.0});
    pugi::xml_node row = table.add_row({text_cell(figure.name)});
    for (const bool is_after : {false, true}) {
        const double value = is_after ? after : before;
        const char* after_class = after > before ? "bar more" : after < before ? "bar less" : "bar";
        table.add_bar_cell(row, {.text = fmt::format("{:.0f}", value), .sort_by = value, .title = {}, .link = {}},
                           value / largest, is_after ? after_class : "bar");
    }
}

void add_explained(pugi::xml_node parent, const KernelChange& change, const std::string& name, size_t number) {
    pugi::xml_node block = add(parent, "details");
    if (change.verdict == Verdict::kWorse && number <= kOpen) set(block, "open", "open");
    pugi::xml_node summary = add(block, "summary");
    const double harm = change.harm.total();
    const std::string by = harm == 0 || !std::isfinite(harm) ? "" : fmt::format(" {:+.1f}", harm);
    add(summary, "span", fmt::format("{}{}", name_of(change.verdict), by), class_of(change.verdict));
    add(summary, "span", " ");
    add(summary, "b", name);
    add(summary, "span", change.line, "faint");
    pugi::xml_node inside = add(block, "div");
    set(inside, "id", fmt::format("c{}", number));
    pugi::xml_node facts = add(inside, "ul", {}, "facts");
    add_fact(facts, "name", full_name(named(change)));
    if (!change.matched_by.empty()) add_fact(facts, "matched by", change.matched_by);
    if (change.before != nullptr && change.after != nullptr) {
        HtmlTable table(inside, {"figure", "before", "after"});
        for (const Figure& figure : kFigures) add_figure(table, figure, change);
    }
    pugi::xml_node list = add(inside, "ul");
    for (const std::string& sentence : change.explanations) add(list, "li", sentence);
}

}  // namespace

void add_changes(pugi::xml_node parent, const Report& report) {
    add(parent, "h2", fmt::format("{} \u2192 {}", report.before_name, report.after_name));
    add(parent, "p",
        "Ranked by what serialised wgmma, instructions in loops and spills by loop depth are expected to cost, in "
        "hundredths of the kernel's time. Nothing was timed.",
        "faint");
    std::vector<const Kernel*> kernels;
    size_t changed = 0;
    for (const KernelChange& change : report.changes) {
        kernels.push_back(&named(change));
        changed += change.verdict != Verdict::kSame;
    }
    const std::vector<std::string> names = short_names(kernels, kNameWidth);
    add_change_table(parent, report.changes, names);
    if (changed > kMostExplained)
        add(parent, "p", fmt::format("Explained are the first {} of {} changes.", kMostExplained, changed));
    for (size_t i = 0; i < std::min(report.changes.size(), kMostExplained); ++i) {
        if (report.changes[i].verdict == Verdict::kSame) continue;
        add_explained(parent, report.changes[i], names[i], i + 1);
    }
}

}  // namespace jali::audit

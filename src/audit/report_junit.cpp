#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "audit/kernel_text.h"
#include "audit/visible_text.h"
#include "jali/audit_report.h"

namespace jali::audit {

namespace {

// What JUnit's readers have as a suite's totals.
struct Totals {
    int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
};

std::string figures_text(const Kernel& kernel) {
    std::string text =
        fmt::format("{} registers, spills {}/{} B ({} stores, {} loads), stack {} B, {} instructions, {} B of code",
                    kernel.registers, kernel.spills.store_bytes, kernel.spills.load_bytes, kernel.spills.stores,
                    kernel.spills.loads, kernel.stack_bytes, kernel.mix.total, kernel.code_bytes);
    if (kernel.serialisation != Serialisation::kNone) text += ", wgmma serialised";
    return text;
}

// pugixml escapes markup; visible() takes out what XML cannot hold at all.
void set(pugi::xml_node node, const char* name, std::string_view value) {
    node.append_attribute(name).set_value(visible(value).c_str());
}

pugi::xml_node add_case(pugi::xml_node suite, const Kernel& kernel, Totals& totals) {
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "classname", kernel.arch + " " + (kernel.assembler.empty() ? "unknown assembler" : kernel.assembler));
    set(test, "name", full_name(kernel));
    set(test, "file", kernel.origin);
    ++totals.tests;
    return test;
}

void add_outcome(pugi::xml_node test, const char* outcome, std::string_view message, std::string_view text) {
    pugi::xml_node node = test.append_child(outcome);
    set(node, "message", message);
    if (!text.empty()) node.text().set(visible(text).c_str());
}

void add_check(pugi::xml_node suite, const Report& report, Totals& totals) {
    std::map<const Kernel*, std::vector<std::string>> breaches;
    for (const BudgetBreach& breach : report.result.breaches) breaches[breach.kernel].push_back(breach.sentence());
    std::map<const Kernel*, bool> uncovered;
    for (const Kernel* kernel : report.result.uncovered) uncovered[kernel] = true;
    for (const Kernel* kernel : kernels_of(report)) {
        pugi::xml_node test = add_case(suite, *kernel, totals);
        const auto found = breaches.find(kernel);
        if (found != breaches.end()) {
            ++totals.failures;
            const std::string all = fmt::format("{}", fmt::join(found->second, "; "));
            add_outcome(test, "failure", all, figures_text(*kernel));
        } else if (uncovered.contains(kernel)) {
            ++totals.skipped;
            add_outcome(test, "skipped", "no rule of the budget covers it", "");
        }
    }
}

void add_diff(pugi::xml_node suite, const Report& report, Totals& totals) {
    for (const KernelChange& change : report.changes) {
        pugi::xml_node test = add_case(suite, *(change.after == nullptr ? change.before : change.after), totals);
        if (change.verdict == Verdict::kWorse) {
            ++totals.failures;
            add_outcome(test, "failure", change.line, fmt::format("{}", fmt::join(change.explanations, "; ")));
        } else {
            test.append_child("system-out").text().set(visible(change.line).c_str());
        }
    }
}

void add_kernels(pugi::xml_node suite, const Report& report, Totals& totals) {
    for (const Kernel* kernel : kernels_of(report)) {
        pugi::xml_node test = add_case(suite, *kernel, totals);
        test.append_child("system-out").text().set(figures_text(*kernel).c_str());
    }
}

}  // namespace

std::string junit_report(const Report& report) {
    pugi::xml_document document;
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    declaration.append_attribute("version") = "1.0";
    declaration.append_attribute("encoding") = "UTF-8";
    pugi::xml_node suite = document.append_child("testsuites").append_child("testsuite");
    set(suite, "name", report.title);

    Totals totals;
    switch (report.kind) {
        case ReportKind::kKernels:
            add_kernels(suite, report, totals);
            break;
        case ReportKind::kDiff:
            add_diff(suite, report, totals);
            break;
        case ReportKind::kCheck:
            add_check(suite, report, totals);
            break;
    }
    for (const Problem& problem : problems_of(report)) {
        pugi::xml_node test = suite.append_child("testcase");
        set(test, "classname", "problems");
        set(test, "name", problem.origin);
        add_outcome(test, "error", problem.sentence, "");
        ++totals.tests;
        ++totals.errors;
    }
    suite.append_attribute("tests") = static_cast<long long>(totals.tests);
    suite.append_attribute("failures") = static_cast<long long>(totals.failures);
    suite.append_attribute("errors") = static_cast<long long>(totals.errors);
    suite.append_attribute("skipped") = static_cast<long long>(totals.skipped);
    std::ostringstream text;
    document.save(text, "  ");
    return text.str();
}

}  // namespace jali::audit

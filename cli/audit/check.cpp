// jali audit check: kernels held to a budget.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "audit/kernel_text.h"
#include "audit/visible_text.h"
#include "cli/audit/command.h"
#include "cli/audit/kernel_source.h"
#include "cli/audit/report_files.h"
#include "cli/console.h"
#include "cli/output_files.h"
#include "jali/audit_budget.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples = R"(A budget is a TOML file (docs/audit.md):

  [[rule]]                     # the first that matches counts
  kernel = "flash_bwd*"        # also: arch = "sm_90*", assembler = "ptxas 13.*"
  spill_bytes = 0              # also: registers, stack_bytes, code_bytes, serialised_wgmma

and a ratchet, which --update writes behind it: what each kernel reached, and may not get worse than.

Examples:
  jali audit check libflash.so --budget audit.toml
  jali audit check libflash.so --budget audit.toml --update
      Remember what is better than before. Nothing that got worse is forgiven.
  jali audit check libflash.so --budget audit.toml --update --loosen
      Take the figures as they are.
  jali audit check k.ptx --ptxas 12.8.93,13.0.88 --budget audit.toml --junit audit.xml

Exit codes: 0 within the budget, 1 not (or something could not be read), 2 bad usage or input.
)";

struct Options {
    std::vector<std::string> paths;
    SourceOptions source;
    ReportOptions report;
    std::string budget;
    bool update = false, loosen = false;
};

std::string label_of(const audit::Kernel& kernel) {
    constexpr size_t kNameWidth = 72;
    const std::string name = audit::visible(full_name(kernel));
    return fmt::format("{} ({}, {})", audit::shortened(name, kNameWidth), audit::visible(kernel.arch),
                       audit::visible(kernel.assembler));
}

std::string text_of(const audit::Report& report) {
    const audit::BudgetResult& result = report.result;
    std::string text;
    for (const audit::BudgetBreach& breach : result.breaches) {
        text += fmt::format("FAILED {}: {}\n", label_of(*breach.kernel), audit::visible(breach.sentence()));
    }
    for (const audit::Kernel* kernel : result.uncovered) {
        text += fmt::format("not covered: {}: no rule speaks of it\n", label_of(*kernel));
    }
    for (const audit::BudgetRule* rule : result.idle) {
        text += fmt::format("idle: rule '{}' (line {}) matches no kernel\n", audit::visible(rule->kernel), rule->line);
    }
    for (const audit::RatchetEntry* entry : result.missing) {
        text += fmt::format("missing: {} ({}, {}) is in the ratchet and not here\n", audit::visible(entry->kernel),
                            audit::visible(entry->arch), audit::visible(entry->assembler));
    }
    return text + fmt::format("{} checked, {}\n", plural(std::ssize(report.audit.kernels), "kernel"),
                              result.breaches.empty() ? "all within the budget"
                                                      : plural(std::ssize(result.breaches), "figure") + " over it");
}

void check_combination(const Options& options) {
    if (options.paths.empty()) throw Error("name at least one PATH (jali audit check --help shows examples)");
    if (options.budget.empty()) throw Error("--budget FILE is needed; --update makes one where there is none");
    if (options.loosen && !options.update) throw Error("--loosen has no effect without --update");
}

audit::Budget budget_of(const Options& options) {
    if (options.update && !std::filesystem::exists(options.budget)) {
        audit::Budget budget;
        budget.ratchet_figures = audit::default_ratchet_figures();
        return budget;
    }
    return audit::load_budget(options.budget);
}

int run(const Options& options) {
    check_combination(options);
    check_report_files(options.report);
    if (options.update) require_writable(options.budget);
    audit::Budget budget = budget_of(options);
    audit::Report report;
    report.kind = audit::ReportKind::kCheck;
    report.title = fmt::format("jali audit check {}", fmt::join(options.paths, " "));
    report.audit = merged(read_kernels(options.paths, options.source));
    if (report.audit.kernels.empty()) {
        complain_of(problems_of(report));
        throw Error("there is no kernel to check; PTX inside of libraries is assembled with --ptxas VERSION");
    }
    const bool is_whole = report.audit.problems.empty();
    if (options.update && is_whole) {
        const auto how = options.loosen ? audit::Update::kLoosen : audit::Update::kTighten;
        budget = updated(budget, report.audit, how);
        save_budget(budget, options.budget);
    }
    report.result = check(report.audit, budget);
    deliver(report, options.report, options.report.json ? "" : text_of(report));
    complain_of(report.audit.problems);
    if (options.update && !is_whole) warn(fmt::format("{} stays as it was: not all could be read", options.budget));
    return report.result.breaches.empty() && is_whole ? kFine : kCheckFailed;
}

}  // namespace

void add_audit_check_command(CLI::App& audit, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *audit.add_subcommand("check", "Hold kernels to a budget of spills, registers, stack, size");
    command.add_option("paths", options->paths, "As for jali audit")->type_name("PATH...");
    command.add_option("--budget", options->budget, "The budget, a TOML file")->type_name("FILE");
    command.add_flag("--update", options->update, "Tighten the ratchet to what was reached; makes the file if need be");
    command.add_flag("--loosen", options->loosen, "With --update: to what there is, also where that is worse");
    add_source_options(command, options->source);
    add_report_options(command, options->report);
    command.footer(kExamples);
    command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace jali::cli

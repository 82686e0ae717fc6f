// jali audit diff: what changed between two sets of kernels, or two toolchains.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "audit/kernel_text.h"
#include "audit/visible_text.h"
#include "cli/audit/command.h"
#include "cli/audit/kernel_source.h"
#include "cli/audit/report_files.h"
#include "cli/console.h"
#include "jali/audit_compare.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples =
    R"(Kernels are matched by name, by name without hashes and numbers, then by shape. One line each, the
worst first: what wgmma serialisation, loop instructions and spills by loop depth are expected to cost
(docs/audit.md has the evidence; nothing is timed).

Examples:
  jali audit diff old.so new.so
  jali audit diff flash-2.0.whl flash-2.1.whl --kernel backward --explain
  jali audit diff --ptxas 12.8.93 --ptxas 13.0.88 k.ptx
      One PTX, two assemblers.
  jali audit diff --options=-O3 --options=-O2 k.ptx
      One assembler, two options.
  jali audit diff old.ptx new.ptx --ptxas 13.0.88
      Two PTX, one assembler.

Exit codes: 0 no kernel is expected to run slower, 1 one is (or something could not be read), 2 bad usage or input.
)";

struct Options {
    std::vector<std::string> paths;
    SourceOptions source;
    ReportOptions report;
    bool explain = false, all = false;
    int64_t most = 0;
};

// Both sides of a comparison, each with the name that it is shown by.
struct Sides {
    std::vector<std::string> paths[2];
    SourceOptions source[2];
    std::string name[2];
};

// Of two values of an option each side takes one; one value serves both.
bool split(std::vector<std::string> SourceOptions::*member, std::string_view option, const Options& options,
           Sides& sides) {
    const std::vector<std::string>& values = options.source.*member;
    if (values.size() < 2) return false;
    if (values.size() > 2)
        throw Error(fmt::format("{} is given {} times but diff has two sides", option, values.size()));
    for (size_t i = 0; i < 2; ++i) {
        sides.source[i].*member = {values[i]};
        sides.name[i] += (sides.name[i].empty() ? "" : " ") + values[i];
    }
    return true;
}

Sides sides_of(const Options& options) {
    Sides sides;
    for (size_t i = 0; i < 2; ++i) sides.source[i] = options.source;
    const bool by_assembler = split(&SourceOptions::ptxas, "--ptxas", options, sides);
    const bool by_options = split(&SourceOptions::options, "--options", options, sides);
    const bool by_route = split(&SourceOptions::routes, "--route", options, sides);
    const bool by_toolchain = by_assembler || by_options || by_route;
    if (options.paths.size() == 2) {
        for (size_t i = 0; i < 2; ++i) {
            sides.paths[i] = {options.paths[i]};
            sides.name[i] = options.paths[i] + (sides.name[i].empty() ? "" : " by " + sides.name[i]);
        }
        return sides;
    }
    if (options.paths.size() != 1 || !by_toolchain) {
        throw Error(fmt::format("diff takes two PATHs, or one and two toolchains (--ptxas A --ptxas B), not {}",
                                plural(std::ssize(options.paths), "PATH")));
    }
    for (size_t i = 0; i < 2; ++i) sides.paths[i] = options.paths;
    return sides;
}

// A side that is one audit: one assembly of each PTX.
void check_single(const SourceOptions& source) {
    const auto several = [](const std::vector<std::string>& texts, char separator) {
        return std::ranges::any_of(texts,
                                   [&](const std::string& text) { return parts_of(text, separator).size() > 1; });
    };
    if (several(source.ptxas, ',') || several(source.options, '|') || several(source.routes, ',')) {
        throw Error("each side of diff is one toolchain: give the option twice, once for each side");
    }
}

std::string text_of(const audit::Report& report, const Options& options) {
    std::string text =
        fmt::format("{} -> {}\n\n", audit::visible(report.before_name), audit::visible(report.after_name));
    int64_t counts[6] = {};
    int64_t shown = 0, left_out = 0;
    for (const audit::KernelChange& change : report.changes) {
        ++counts[static_cast<size_t>(change.verdict)];
        if (change.verdict == audit::Verdict::kSame && !options.all) continue;
        if (options.most > 0 && shown == options.most) {
            ++left_out;
            continue;
        }
        ++shown;
        const audit::Kernel& kernel = *(change.after == nullptr ? change.before : change.after);
        const std::string& name = full_name(kernel);
        text += fmt::format("{:9} {:>7}  {}: {}\n", name_of(change.verdict),
                            change.harm.total() == 0 ? "" : fmt::format("{:+.1f}", change.harm.total()),
                            audit::shortened(audit::visible(name), 72), audit::visible(change.line));
        if (!options.explain) continue;
        for (const std::string& sentence : change.explanations) text += "                     " + sentence + "\n";
    }
    if (left_out > 0) text += fmt::format("and {} more\n", group_digits(left_out));
    if (shown > 0) text += "\n";
    for (const audit::Verdict verdict : {audit::Verdict::kWorse, audit::Verdict::kDifferent, audit::Verdict::kBetter,
                                         audit::Verdict::kAdded, audit::Verdict::kRemoved, audit::Verdict::kSame}) {
        text += fmt::format("{}{} {}", verdict == audit::Verdict::kWorse ? "" : ", ",
                            group_digits(counts[static_cast<size_t>(verdict)]), name_of(verdict));
    }
    return text + "\n";
}

int run(const Options& options) {
    Sides sides = sides_of(options);
    for (SourceOptions& source : sides.source) {
        check_single(source);
        source.keep_ptx_text = true;  // explanations quote it
    }
    check_report_files(options.report);
    audit::Report report;
    report.kind = audit::ReportKind::kDiff;
    report.title = "jali audit diff";
    report.before_name = sides.name[0];
    report.after_name = sides.name[1];
    report.before = merged(read_kernels(sides.paths[0], sides.source[0]));
    report.audit = merged(read_kernels(sides.paths[1], sides.source[1]));
    if (report.before.kernels.empty() && report.audit.kernels.empty()) {
        complain_of(problems_of(report));
        throw Error(
            "neither side has a kernel that is read; PTX inside of libraries is assembled with --ptxas VERSION");
    }
    report.changes = compare(report.before, report.audit);
    deliver(report, options.report, options.report.json ? "" : text_of(report, options));
    const std::vector<audit::Problem> problems = problems_of(report);
    complain_of(problems);
    return any_worse(report.changes) || !problems.empty() ? kCheckFailed : kFine;
}

}  // namespace

void add_audit_diff_command(CLI::App& audit, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *audit.add_subcommand("diff", "What changed between two files, folders, wheels or toolchains");
    command.add_option("paths", options->paths, "OLD and NEW; one where toolchains are compared")->type_name("OLD NEW");
    add_source_options(command, options->source);
    command.add_flag("--explain", options->explain, "Below each line the differences that matter")->group("Output");
    command.add_flag("--all", options->all, "Also kernels whose instructions are the same")->group("Output");
    command.add_option("--most", options->most, "At most N lines")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber)
        ->group("Output");
    add_report_options(command, options->report);
    command.footer(kExamples);
    command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace jali::cli

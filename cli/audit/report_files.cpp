#include "cli/audit/report_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/console.h"
#include "cli/output_files.h"
#include "io/atomic_file.h"
#include "jali/error.h"

namespace jali::cli {

void add_report_options(CLI::App& command, ReportOptions& options) {
    const std::string group = "Output";
    command.add_flag("--json", options.json, "Print JSON instead of tables (docs/audit.md)")->group(group);
    command.add_option("--html", options.html_file, "Write a page for browsers as well, in one file")
        ->type_name("FILE")
        ->group(group);
    command.add_option("--junit", options.junit_file, "Write JUnit XML as well: a test case a kernel")
        ->type_name("FILE")
        ->group(group);
}

void check_report_files(const ReportOptions& options) {
    if (!options.junit_file.empty()) require_writable(options.junit_file);
    if (!options.html_file.empty()) require_writable(options.html_file);
}

void deliver(const audit::Report& report, const ReportOptions& options, const std::string& text) {
    if (!options.junit_file.empty()) io::write_file(options.junit_file, junit_report(report));
    if (!options.html_file.empty()) io::write_file(options.html_file, html_report(report));
    print(options.json ? json_report(report) : text);
}

void complain_of(const std::vector<audit::Problem>& problems) {
    for (const audit::Problem& problem : problems) {
        const std::string where = problem.origin.empty() ? "" : problem.origin + ": ";
        fmt::print(stderr, "jali: {}\n", sentence_of(where + problem.sentence));
    }
}

}  // namespace jali::cli

// The forms in which a report leaves: text, JSON, JUnit, HTML.
#pragma once

#include <string>
#include <vector>

#include "jali/audit_report.h"

namespace CLI {
class App;
}

namespace jali::cli {

struct ReportOptions {
    bool json = false;
    std::string junit_file, html_file;
};

void add_report_options(CLI::App& command, ReportOptions& options);

// Before any work: whether the files can be written.
void check_report_files(const ReportOptions& options);

// Writes what the options ask for; `text` goes to standard output where JSON does not.
void deliver(const audit::Report& report, const ReportOptions& options, const std::string& text);

// Each problem as a sentence on standard error.
void complain_of(const std::vector<audit::Problem>& problems);

}  // namespace jali::cli

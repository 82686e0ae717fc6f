// An audit as text for people and programs. Everything that came out of a file is escaped for its format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jali/audit.h"
#include "jali/audit_assemble.h"
#include "jali/audit_budget.h"
#include "jali/audit_compare.h"

namespace jali::audit {

enum class ReportKind { kKernels, kDiff, kCheck };

// What there is to report. A kernel stands either in `audit` or in one of `assembled`.
struct Report {
    ReportKind kind = ReportKind::kKernels;
    std::string title;                 // "jali audit flash.so"
    Audit audit;                       // of a comparison, the new side
    std::vector<Assembled> assembled;  // PTX by assembler and options
    // Of a comparison.
    Audit before;
    std::vector<KernelChange> changes;  // between `before` and `audit`
    std::string before_name, after_name;
    // Of a check.
    BudgetResult result;

    std::vector<std::string> device_names;  // whose occupancy is shown
    std::vector<std::string> source_roots;  // folders that source lines may be read from
};
// Every kernel of `audit` and `assembled`.
std::vector<const Kernel*> kernels_of(const Report& report);
// What could not be read or assembled.
std::vector<Problem> problems_of(const Report& report);

// One JSON document; docs/audit.md has the schema.
std::string json_report(const Report& report);
// A test case a kernel; breaches and kernels that got worse fail, what could not be read is an error.
std::string junit_report(const Report& report);
// One page that needs no network, and no script for its data.
std::string html_report(const Report& report);

}  // namespace jali::audit

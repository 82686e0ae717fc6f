#include <fmt/format.h>

#include "jali/audit_report.h"

namespace jali::audit {

std::vector<const Kernel*> kernels_of(const Report& report) {
    std::vector<const Kernel*> kernels;
    for (const Kernel& kernel : report.audit.kernels) kernels.push_back(&kernel);
    for (const Assembled& run : report.assembled) {
        for (const Kernel& kernel : run.kernels) kernels.push_back(&kernel);
    }
    return kernels;
}

namespace {

std::string spaced(std::string_view before, const std::string& text) {
    return text.empty() ? "" : std::string(before) + text;
}

}  // namespace

std::vector<Problem> problems_of(const Report& report) {
    std::vector<Problem> problems = report.before.problems;
    problems.insert(problems.end(), report.audit.problems.begin(), report.audit.problems.end());
    for (const Assembled& run : report.assembled) {
        if (run.succeeded) continue;
        problems.push_back({run.ptx, fmt::format("ptxas {}{}{} ({}): {}", run.assembler, spaced(" ", run.options),
                                                 spaced(" for ", run.arch), name_of(run.route), run.message)});
    }
    return problems;
}

}  // namespace jali::audit

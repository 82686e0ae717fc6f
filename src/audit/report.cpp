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

std::vector<Problem> problems_of(const Report& report) {
    std::vector<Problem> problems = report.before.problems;
    problems.insert(problems.end(), report.audit.problems.begin(), report.audit.problems.end());
    for (const Assembled& run : report.assembled) {
        if (run.succeeded) continue;
        problems.push_back({run.ptx, fmt::format("ptxas {} {} for {} ({}): {}", run.assembler, run.options, run.arch,
                                                 name_of(run.route), run.message)});
    }
    return problems;
}

}  // namespace jali::audit

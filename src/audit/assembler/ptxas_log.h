// What `ptxas -v` and nvlink say, as numbers and notes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jali/audit_assemble.h"

namespace jali::audit {

struct PtxasLog {
    std::vector<ReportedKernel> kernels;  // in the log's order, one a name
    std::vector<std::string> notes;       // that name no function, of several kernels
    std::vector<std::string> complaints;  // errors, fatal errors and warnings, without "ptxas"
};
PtxasLog parse_ptxas_log(std::string_view log);

// Whether a note says that wgmma waits one by one: C7510 to C7515, or its words where the number is another.
bool says_serialised(std::string_view note);

// Puts notes and serialisation into the kernels of the same run.
void apply_log(const PtxasLog& log, std::vector<Kernel>& kernels);

}  // namespace jali::audit

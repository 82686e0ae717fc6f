// Kernels as tables for people.
#pragma once

#include <string>
#include <vector>

#include "jali/audit_report.h"

namespace jali::cli {

// A line a kernel, and below what holds for all. `devices`: whose theoretical occupancy is shown.
std::string kernel_table(const std::vector<const audit::Kernel*>& kernels, const std::vector<std::string>& devices);

// "28/16": bytes of spill stores and loads; "~28/16" where they were told by opcodes alone.
std::string spill_bytes_text(const audit::Kernel& kernel);

}  // namespace jali::cli

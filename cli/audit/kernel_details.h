// All that is known of one kernel, for people.
#pragma once

#include <string>

#include "jali/audit_report.h"

namespace jali::cli {

std::string kernel_details(const audit::Kernel& kernel);

}  // namespace jali::cli

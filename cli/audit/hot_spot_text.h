// Where a kernel spills, with the lines of PTX or source that it comes from.
#pragma once

#include <string>
#include <vector>

#include "audit/hot_spots.h"
#include "audit/source_text.h"
#include "jali/audit_report.h"

namespace jali::cli {

struct HotSpotOptions {
    audit::LineKind prefer = audit::LineKind::kSource;
    int64_t most = 20;  // places of a kernel
};

// Empty where the kernel spills nothing. Source lines are shown where `files` finds them.
std::string hot_spot_text(const audit::Kernel& kernel, const HotSpotOptions& options, audit::SourceFiles& files);

}  // namespace jali::cli

// All that one PTX is assembled with.
#pragma once

#include <string>
#include <vector>

#include "audit/assembler/command_line.h"

namespace jali::audit {

// One column of the matrix.
struct Way {
    Variant variant;      // its arch is what was asked for; empty: the PTX's own
    std::string options;  // as the caller wrote them
    std::string remark;   // for the rows' warnings
    std::string failure;  // why it cannot be; empty: it can
};
// Assemblers, then options, architectures and routes, in that order of nesting. Throws Error where there is no
// assembler, or an option is not the caller's to give.
std::vector<Way> ways_of(const AssembleOptions& options);

}  // namespace jali::audit

// What changed in a kernel, in words and numbers.
#pragma once

#include <string>
#include <vector>

#include "jali/audit_compare.h"

namespace jali::audit {

// "spills 28/16 -> 204/204 B, loop instructions +3.1 %, 128 registers".
std::string line_of(const KernelChange& change);
// A sentence a difference: serialisation, loops, spills and their lines, registers and roles, kinds of instructions,
// load distances, widths in the PTX. Empty where a side is missing.
std::vector<std::string> explanations_of(const KernelChange& change);

}  // namespace jali::audit

// --table NAME=SPEC and --scalar NAME=INT.
#pragma once

#include <string>
#include <vector>

#include "jali/predicate_text.h"

namespace jali::cli {

// SPEC of a table is FILE.npy, lengths:4,7,9 (document ids of packed documents), offsets:0,4,11 (the same from
// cumulative offsets), or 1,2,3 (integers). Throws Error naming the option.
Bindings read_bindings(const std::vector<std::string>& tables, const std::vector<std::string>& scalars);

}  // namespace jali::cli

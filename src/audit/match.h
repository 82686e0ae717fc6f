// Which kernel of one audit is which of another.
#pragma once

#include <string_view>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

struct Match {
    const Kernel* before = nullptr;  // null: added
    const Kernel* after = nullptr;   // null: removed
    std::string_view by;             // "name", "name without hashes", "shape"; empty where one is missing
};

// Each kernel of both once; compare() says by what.
std::vector<Match> match(const Audit& before, const Audit& after);

}  // namespace jali::audit

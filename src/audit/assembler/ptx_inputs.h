// PTX to assemble, out of whatever carries it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

struct PtxInput {
    std::string origin;
    std::string text;
};
struct PtxInputs {
    std::vector<PtxInput> inputs;
    std::vector<Problem> problems;  // what could not be read
};
// In the order of the paths, and of names below a folder. A file named *.ptx is PTX whatever it holds. Throws FileError
// where a path cannot be opened, and Error where there is neither PTX nor a problem.
PtxInputs collect_ptx(const std::vector<std::filesystem::path>& paths);

}  // namespace jali::audit

// The kernels of one cubin, those that can be read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

struct CubinKernels {
    std::vector<Kernel> kernels;
    std::vector<std::string> problems;  // a sentence for each kernel that could not be read
};

// As read_cubin() does, but a kernel that is wrong by itself does not lose the others. Throws FileError where the
// cubin as a whole is wrong.
CubinKernels read_kernels(std::span<const uint8_t> bytes, const std::string& origin, const ReadOptions& options);

}  // namespace jali::audit

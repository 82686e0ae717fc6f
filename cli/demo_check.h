// Rows of the demonstration's results against the float64 reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/check.h"
#include "cli/packed_documents.h"

namespace jali::cli {

// A query keeps keys of its own document only, so the reference can take one document of one head by itself: every row
// of it, in all five tensors, under the tolerances of `jali check`.
struct SampledDocument {
    int64_t head = 0;
    int64_t begin = 0, length = 0;
    CheckResult result;
};

// Documents and heads drawn at random, no head twice, while their pairs stay below a limit; results are compared in as
// many threads as there are.
std::vector<SampledDocument> check_sampled_documents(const DemoTensors& tensors, const std::vector<int64_t>& lengths,
                                                     uint64_t seed, int threads);

// One tensor over all samples.
struct TensorVerdict {
    std::string name;
    int64_t rows = 0;
    double error = 0, allowed = 0;  // of the tile that comes closest to its limit, or passes it
    double rms_ratio = 0;           // the largest of root mean square error over the plain computation's
    bool passed = true;
};
std::vector<TensorVerdict> verdicts(const std::vector<SampledDocument>& samples);

}  // namespace jali::cli

// An engine held to the reference: what `jali check` and the tests run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/check_case.h"
#include "attention/tolerance.h"

namespace jali {

struct CheckOptions {
    reference::Shape shape;
    DType dtype = DType::kFloat32;
    InputKind inputs = InputKind::kNormal;
    uint64_t seed = 0;
    Passes passes = Passes::kForwardAndBackward;
    AttentionOptions attention;  // its scale, where set, is the case's
};

struct CheckResult {
    std::vector<TensorError> tensors;  // out, lse, and dq, dk, dv after a backward
    double reference_milliseconds = 0, engine_milliseconds = 0;

    bool passed() const;
    std::string failure() const;  // of the first tensor that fails, empty where all passed
};

// Draws inputs, runs the engine with `mask` and the reference with `keep`, which the mask should equal. Memory and time
// are the reference's: a bit a pair, up to 2^31 pairs, and float64 copies of all tensors.
CheckResult check_engine(const BlockMask& mask, const reference::Keep& keep, const CheckOptions& options);

// The same for results got otherwise (other strides, a file).
CheckResult compare_results(const AttentionCase& values, const CaseResults& results, const CaseResults& exact,
                            const CaseResults& naive, double lse_rms_ratio = kRmsErrorRatio);

}  // namespace jali

// An engine held to the reference in a test with fresh inputs.
//
// The largest of few errors is a matter of luck: of two equally good computations one errs twice as much as the other
// in one tile of some thousands, and more where all gradients of a head hang on one row's sum. So a draw that errs by
// less than three times what is allowed is drawn twice again, and both must pass. A fault fails every draw: chance that
// passes one in a thousand lets one in a billion through.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "attention/check.h"

namespace jali::test {

// The largest error over what is allowed, over tiles and means; at most 1 where the result passed.
inline double excess_of(const CheckResult& result) {
    double excess = 0.0;
    for (const TensorError& tensor : result.tensors) {
        if (!tensor.rms_passed()) excess = std::max(excess, tensor.rms / (tensor.rms_ratio * tensor.naive_rms));
        for (const TileError& tile : tensor.tiles)
            if (!tile.passed()) excess = std::max(excess, tile.error / tile.allowed);
    }
    return excess;
}

inline void expect_exact(const BlockMask& mask, const reference::Keep& keep, CheckOptions options,
                         const std::string& context) {
    constexpr double kMarginal = 3;
    const CheckResult result = check_engine(mask, keep, options);
    if (result.passed()) return;
    if (!(excess_of(result) < kMarginal)) {
        ADD_FAILURE() << context << ": " << result.failure();
        return;
    }
    for (const uint64_t redraw : {uint64_t{1}, uint64_t{2}}) {
        options.seed ^= redraw << 32;
        const CheckResult again = check_engine(mask, keep, options);
        EXPECT_TRUE(again.passed()) << context << ", drawn again after \"" << result.failure()
                                    << "\": " << again.failure();
    }
}

}  // namespace jali::test

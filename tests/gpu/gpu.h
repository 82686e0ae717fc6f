// What tests on a GPU share.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "jali/cuda.h"

namespace jali::test {

// Skips where there is no GPU that kernels are built for; with JALI_GPU_REQUIRED set that is a failure.
class OnGpu : public testing::Test {
   protected:
    void SetUp() override {
        const std::vector<cuda::DeviceInfo> devices = cuda::devices();
        std::string why = cuda::driver_problem();
        for (const cuda::DeviceInfo& device : devices) {
            if (device.problem.empty()) return;
            why = device.problem;
        }
        if (std::getenv("JALI_GPU_REQUIRED") != nullptr) FAIL() << why;
        GTEST_SKIP() << why;
    }
};

}  // namespace jali::test

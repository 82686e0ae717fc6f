#include <algorithm>

#include "audit/arch.h"
#include "jali/audit.h"

namespace jali::audit {
namespace {

constexpr int64_t kThreadsAWarp = 32;
constexpr int64_t kPartitions = 4;  // of an SM, with a register file each
constexpr int64_t kSharedAllocation = 128;
constexpr int64_t kMostThreadsABlock = 1024;

int64_t divided_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
int64_t rounded_up(int64_t a, int64_t b) {
    return divided_up(a, b) * b;
}

// Machine code runs on later members of its family: of sm_80 on sm_86, of sm_90a on sm_90 alone.
bool runs_on(const Kernel& kernel, const Device& device) {
    const int code = arch_number(kernel.arch), machine = arch_number(device.arch);
    if (kernel.arch.ends_with('a')) return code == machine;
    return code / 10 == machine / 10 && code % 10 <= machine % 10;
}

}  // namespace

std::optional<Occupancy> occupancy(const Kernel& kernel, const Device& device, int64_t threads,
                                   int64_t dynamic_shared_bytes) {
    if (threads <= 0) threads = kernel.threads_bound;
    if (!runs_on(kernel, device) || threads <= 0 || threads > kMostThreadsABlock) return std::nullopt;
    const int64_t dynamic = std::max(dynamic_shared_bytes, kernel.dynamic_shared_bytes);
    const int64_t shared = kernel.static_shared_bytes + std::max<int64_t>(dynamic, 0);
    if (shared > device.shared_bytes_a_block) return std::nullopt;

    const int64_t warps = divided_up(threads, kThreadsAWarp);
    const int64_t registers_a_warp =
        rounded_up(std::max<int64_t>(kernel.registers, 1) * kThreadsAWarp, device.register_allocation);
    const int64_t warps_by_registers = kPartitions * (device.registers / kPartitions / registers_a_warp);

    // In the order in which one is named where several are equal.
    const std::pair<int64_t, const char*> limits[] = {
        {warps_by_registers / warps, "registers"},
        {device.shared_bytes / rounded_up(shared + device.reserved_shared_bytes, kSharedAllocation), "shared memory"},
        {device.threads / kThreadsAWarp / warps, "threads"},
        {device.blocks, "blocks"},
    };
    const auto& [blocks, limit] = *std::min_element(std::begin(limits), std::end(limits),
                                                    [](const auto& a, const auto& b) { return a.first < b.first; });
    if (blocks == 0) return std::nullopt;
    Occupancy result;
    result.blocks = blocks;
    result.warps = blocks * warps;
    result.share = static_cast<double>(result.warps * kThreadsAWarp) / static_cast<double>(device.threads);
    result.limit = limit;
    return result;
}

}  // namespace jali::audit

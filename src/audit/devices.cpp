#include "jali/audit.h"

namespace jali::audit {
namespace {

constexpr int64_t kKib = 1024;

// Of the table of compute capabilities in the CUDA C++ Programming Guide 13.
Device device(const char* name, const char* arch, int64_t shared_kib, int64_t threads, int64_t blocks) {
    Device device;
    device.name = name;
    device.arch = arch;
    device.shared_bytes = shared_kib * kKib;
    device.shared_bytes_a_block = device.shared_bytes - device.reserved_shared_bytes;
    device.threads = threads;
    device.blocks = blocks;
    return device;
}

}  // namespace

std::vector<Device> devices() {
    return {
        device("A100", "sm_80", 164, 2048, 32),      device("A10", "sm_86", 100, 1536, 16),
        device("RTX 3090", "sm_86", 100, 1536, 16),  device("Orin", "sm_87", 164, 1536, 16),
        device("L4", "sm_89", 100, 1536, 24),        device("L40S", "sm_89", 100, 1536, 24),
        device("RTX 4090", "sm_89", 100, 1536, 24),  device("H100", "sm_90", 228, 2048, 32),
        device("H200", "sm_90", 228, 2048, 32),      device("B200", "sm_100", 228, 2048, 32),
        device("B300", "sm_103", 228, 2048, 32),     device("Thor", "sm_110", 228, 1536, 24),
        device("RTX 5090", "sm_120", 100, 1536, 24), device("GB10", "sm_121", 100, 1536, 24),
    };
}

}  // namespace jali::audit

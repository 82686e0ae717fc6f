#include "cli/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include "jali/cuda.h"

namespace jali::cli {

namespace {

// The value of the first line "key : value" of /proc/cpuinfo whose key is one of `keys` (the name differs between
// processor families).
std::string processor_field(std::initializer_list<std::string_view> keys) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
        const size_t value = line.find_first_not_of(' ', colon + 1);
        return value == std::string::npos ? "" : line.substr(value);
    }
    return "";
}

std::vector<std::string> instruction_sets() {
    constexpr std::array<std::string_view, 16> kWanted = {
        "sse4_2",      "avx2",     "fma",      "f16c",  "avx512f", "avx512bw", "avx512vl", "avx512_bf16",
        "avx512_fp16", "amx_tile", "amx_bf16", "asimd", "sve",     "sve2",     "bf16",     "i8mm"};
    std::istringstream flags(processor_field({"flags", "Features"}));
    std::vector<std::string> all{std::istream_iterator<std::string>(flags), {}};
    std::vector<std::string> found;
    for (const std::string_view wanted : kWanted) {
        if (std::find(all.begin(), all.end(), wanted) != all.end()) found.emplace_back(wanted);
    }
    return found;
}

int usable_threads() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return std::max(1, CPU_COUNT(&set));
}

int64_t memory_bytes() {
    const int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    int64_t limit = 0;
    std::ifstream control_group("/sys/fs/cgroup/memory.max");  // "max" where there is no limit
    return control_group >> limit && limit > 0 ? std::min(limit, physical) : physical;
}

}  // namespace

Machine this_machine() {
    Machine machine;
    machine.processor = processor_field({"model name", "Model", "Hardware"});
    if (machine.processor.empty()) machine.processor = "unknown";
    machine.threads = usable_threads();
    machine.memory_bytes = memory_bytes();
    machine.instruction_sets = instruction_sets();
    return machine;
}

std::string gpu_description() {
    std::string text;
    for (const cuda::DeviceInfo& device : cuda::devices()) {
        text += (text.empty() ? "" : "; ") + device.name + ", " + device.arch;
        if (!device.problem.empty()) text += " (" + device.problem + ")";
    }
    return text.empty() ? "none: " + cuda::driver_problem() : text;
}

}  // namespace jali::cli

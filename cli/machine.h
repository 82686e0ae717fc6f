// What this machine is: processors, memory, instruction sets, and how fast it multiplies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace jali::cli {

struct Machine {
    std::string processor;                      // the maker's name for it
    int threads = 1;                            // that this process may run at once
    int64_t memory_bytes = 0;                   // of the machine, or of this process's control group where that is less
    std::vector<std::string> instruction_sets;  // of those that matter to attention: avx2, fma, avx512f, ...
};
Machine this_machine();

// "none found", or what the driver says. The driver is opened at run time.
std::string gpu_description();

// Single-precision fused multiply-adds on registers alone, in every thread at once, with the widest vectors that the
// machine has: the ceiling that no fp32 code passes. In 10^12 floating-point operations a second; takes about 0.2 s.
struct PeakRate {
    double tflops = 0;
    int threads = 1;
    std::string vectors;  // "512-bit"
};
PeakRate measure_peak(int threads);

}  // namespace jali::cli

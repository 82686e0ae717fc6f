#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cli/machine.h"

namespace jali::cli {

namespace {

using Clock = std::chrono::steady_clock;

// Enough independent chains to cover the latency of a multiply-add on two ports.
constexpr int kChains = 12;
constexpr int kSteps = 4096;
constexpr std::chrono::milliseconds kMeasured{60};
constexpr int kRounds = 3;

typedef float Vector128 __attribute__((vector_size(16)));
typedef float Vector256 __attribute__((vector_size(32)));
typedef float Vector512 __attribute__((vector_size(64)));

// One burst: kSteps multiply-adds in each chain. The result is returned so that nothing is optimised away.
template <class Vector>
[[gnu::always_inline]] inline float burst(float seed) {
    std::array<Vector, kChains> chains;
    for (int i = 0; i < kChains; ++i) chains[static_cast<size_t>(i)] = Vector{} + seed + static_cast<float>(i);
    const Vector factor = Vector{} + (1 - seed), addend = Vector{} + seed;
    for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 16
        for (int i = 0; i < kChains; ++i) {
            Vector& chain = chains[static_cast<size_t>(i)];
            chain = chain * factor + addend;
        }
    }
    Vector sum{};
    for (const Vector& chain : chains) sum += chain;
    return sum[0];
}

struct Kernel {
    float (*run)(float seed);
    int lanes;
};

float burst_portable(float seed) {
    return burst<Vector128>(seed);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float burst_avx2(float seed) {
    return burst<Vector256>(seed);
}
[[gnu::target("avx512f")]] float burst_avx512(float seed) {
    return burst<Vector512>(seed);
}

Kernel widest_kernel() {
    if (__builtin_cpu_supports("avx512f")) return {burst_avx512, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {burst_avx2, 8};
    return {burst_portable, 4};
}
#else
Kernel widest_kernel() {
    return {burst_portable, 4};
}
#endif

// Operations a second of all threads together, in one round.
double measure_round(const Kernel& kernel, int threads) {
    std::atomic<bool> stop{false};
    std::atomic<int64_t> bursts{0};
    std::atomic<float> sink{0};
    const auto work = [&] {
        int64_t done = 0;
        float sum = 0;
        for (; !stop.load(std::memory_order_relaxed); ++done)
            sum += kernel.run(1e-3F + 1e-9F * static_cast<float>(done & 7));
        bursts += done;
        sink.store(sum, std::memory_order_relaxed);
    };
    std::vector<std::thread> workers;
    const auto start = Clock::now();
    for (int i = 0; i < threads; ++i) workers.emplace_back(work);
    std::this_thread::sleep_for(kMeasured);
    stop = true;
    for (std::thread& worker : workers) worker.join();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return 2.0 * kChains * kSteps * kernel.lanes * static_cast<double>(bursts.load()) / seconds;
}

}  // namespace

PeakRate measure_peak(int threads) {
    const Kernel kernel = widest_kernel();
    double best = 0;
    for (int round = 0; round < kRounds; ++round) best = std::max(best, measure_round(kernel, threads));
    return {best / 1e12, threads, fmt::format("{}-bit", 32 * kernel.lanes)};
}

}  // namespace jali::cli

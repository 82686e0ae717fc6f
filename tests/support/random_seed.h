// Fresh randomness for each run, printed so that a failure can be replayed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace jali::test {

// JALI_SEED where set, otherwise a new one; printed once a process.
inline uint64_t run_seed() {
    static const uint64_t seed = [] {
        const char* wanted = std::getenv("JALI_SEED");
        const uint64_t value = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device{}();
        std::printf("JALI_SEED=%llu\n", static_cast<unsigned long long>(value));
        return value;
    }();
    return seed;
}

// A seed for one use: the same for the same run and name, different between names.
inline uint64_t seed_for(const std::string& name) {
    std::seed_seq sequence(name.begin(), name.end());
    uint32_t mixed[2] = {};
    sequence.generate(mixed, mixed + 2);
    return run_seed() ^ (uint64_t{mixed[0]} << 32 | mixed[1]);
}

}  // namespace jali::test

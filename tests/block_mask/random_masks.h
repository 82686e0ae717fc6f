// Small random block masks of every kind of run: aligned and anchored grids, full, partial and empty tiles, equal
// stencils in a row.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "block_mask/parts_from_bits.h"

namespace jali::test {

// Fresh each run; JALI_SEED replays.
inline std::mt19937_64 fresh_random() {
    const char* text = std::getenv("JALI_SEED");
    const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
    std::printf("JALI_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return std::mt19937_64(seed);
}

inline int64_t pick(std::mt19937_64& random, int64_t lowest, int64_t highest) {
    return std::uniform_int_distribution<int64_t>(lowest, highest)(random);
}

inline std::vector<Tile> random_tiles(std::mt19937_64& random) {
    if (pick(random, 0, 2) == 0) return aligned_tiles(pick(random, 1, 700));
    std::vector<int32_t> documents;
    for (int64_t count = pick(random, 1, 5); count > 0; --count) {
        documents.push_back(
            static_cast<int32_t>(pick(random, 0, 1) == 0 ? 64 * pick(random, 1, 4) : pick(random, 1, 200)));
    }
    return document_tiles(documents);
}

struct RandomMask {
    Keep keep;
    BlockMask mask;
};

// Two heads of one batch.
inline RandomMask random_mask(std::mt19937_64& random) {
    const Grid grid{random_tiles(random), random_tiles(random)};
    const int64_t band = pick(random, 1, 300), period = pick(random, 2, 128), kind = pick(random, 0, 4);
    const uint64_t salt = random();
    const Keep keep = [=](int64_t, int64_t h, int64_t q, int64_t kv) {
        if (h == 1) return (q / 128 + kv / 128) % 2 == 0;
        switch (kind) {
            case 0:
                return q >= kv;
            case 1:
                return q - kv < band && kv - q < band / 2;
            case 2:
                return (q + kv) % period == 0;  // equal stencils side by side where the period divides 128
            case 3:
                return ((static_cast<uint64_t>(q * 1'000'003 + kv) * 0x9E3779B97F4A7C15U ^ salt) >> 61) == 0;
            default:
                return q / period == kv / period;
        }
    };
    return {keep, mask_from_bits(grid, keep, 1, 2)};
}

}  // namespace jali::test

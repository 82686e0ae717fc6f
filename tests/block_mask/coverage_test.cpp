#include "block_mask/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "block_mask/parts_from_bits.h"
#include "block_mask/random_masks.h"

namespace jali {
namespace {

using testing::ElementsAre;

std::vector<int64_t> random_cuts(std::mt19937_64& random, int64_t length) {
    std::vector<int64_t> cuts{0};
    const int64_t largest = test::pick(random, 1, 1 + length / 2);
    while (cuts.back() < length) cuts.push_back(std::min(length, cuts.back() + test::pick(random, 1, largest)));
    return cuts;
}

const Tile& tile_at(std::span<const Tile> tiles, int64_t position) {
    for (const Tile& tile : tiles) {
        if (position < tile.begin + tile.rows) return tile;
    }
    return tiles.back();
}

// Pair by pair, from the predicate.
CellPairs brute_force(const test::RandomMask& random_mask, int64_t h, const std::vector<int64_t>& q_cuts,
                      const std::vector<int64_t>& kv_cuts, size_t i, size_t j) {
    const HeadView head = random_mask.mask.head(0, h);
    CellPairs pairs;
    for (int64_t q = q_cuts[i]; q < q_cuts[i + 1]; ++q) {
        for (int64_t kv = kv_cuts[j]; kv < kv_cuts[j + 1]; ++kv) {
            pairs.kept += random_mask.keep(0, h, q, kv) ? 1 : 0;
            const Tile &queries = tile_at(head.q_tiles, q), &keys = tile_at(head.kv_tiles, kv);
            const auto q_tile = static_cast<int64_t>(&queries - head.q_tiles.data());
            const auto kv_tile = static_cast<int64_t>(&keys - head.kv_tiles.data());
            for (const Run& run : head.row(q_tile)) {
                if (kv_tile < run.first_tile || kv_tile >= run.first_tile + run.tiles) continue;
                ++(run.stencil == kFull ? pairs.in_full_tiles : pairs.in_partial_tiles);
            }
        }
    }
    return pairs;
}

TEST(CountPairs, EqualsCountingPairByPair) {
    std::mt19937_64 random = test::fresh_random();
    for (int round = 0; round < 30; ++round) {
        const test::RandomMask random_mask = test::random_mask(random);
        const int64_t h = test::pick(random, 0, 1);
        const std::vector<int64_t> q_cuts = random_cuts(random, random_mask.mask.q_len());
        const std::vector<int64_t> kv_cuts = random_cuts(random, random_mask.mask.kv_len());
        const std::vector<CellPairs> cells = count_pairs(random_mask.mask, 0, h, q_cuts, kv_cuts);
        ASSERT_EQ(cells.size(), (q_cuts.size() - 1) * (kv_cuts.size() - 1));
        for (size_t i = 0; i + 1 < q_cuts.size(); ++i) {
            for (size_t j = 0; j + 1 < kv_cuts.size(); ++j) {
                ASSERT_EQ(cells[i * (kv_cuts.size() - 1) + j], brute_force(random_mask, h, q_cuts, kv_cuts, i, j))
                    << "round " << round << ", cell " << i << ", " << j;
            }
        }
    }
}

TEST(CountPairs, OneLongRunOfOneStencilCostsNoMoreThanItsCells) {
    // 16,384 x 16,384 tile pairs of one stencil, in as many runs as rows.
    constexpr int64_t kLength = int64_t{1} << 21;
    BlockMask::Parts parts;
    parts.q_len = parts.kv_len = kLength;
    parts.grids.push_back({test::aligned_tiles(kLength), test::aligned_tiles(kLength)});
    parts.stencils.emplace_back();
    parts.stencils[0].words[5] = 0b111;
    parts.row_offsets.emplace_back();
    parts.runs.emplace_back();
    for (int32_t tile = 0; tile <= kLength / kTileRows; ++tile) {
        parts.row_offsets[0].push_back(tile);
        if (tile < kLength / kTileRows) parts.runs[0].push_back({0, static_cast<int32_t>(kLength / kTileRows), 0});
    }
    const BlockMask mask = BlockMask::assemble(std::move(parts));
    const std::vector<int64_t> cuts = cuts_every(kLength / 64, kLength);
    const std::clock_t start = std::clock();  // of this process: other work must not count
    const std::vector<CellPairs> cells = count_pairs(mask, 0, 0, cuts, cuts);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 2);  // tile pair by tile pair it is 268 million counts
    for (const CellPairs& cell : cells) {
        ASSERT_EQ(cell, (CellPairs{3 * 256 * 256, 0, kLength / 64 * (kLength / 64)}));
    }
}

TEST(CountPairs, CutsDivideALength) {
    EXPECT_THAT(cuts_every(4, 10), ElementsAre(0, 4, 8, 10));
    EXPECT_THAT(cuts_every(5, 10), ElementsAre(0, 5, 10));
    EXPECT_THAT(cuts_every(5, 0), ElementsAre(0));
}

TEST(CountPairs, NoPairsNoCells) {
    const BlockMask mask = test::mask_from_bits({{}, test::aligned_tiles(5)}, nullptr);
    EXPECT_TRUE(count_pairs(mask, 0, 0, cuts_every(1, 0), cuts_every(1, 5)).empty());
}

}  // namespace
}  // namespace jali

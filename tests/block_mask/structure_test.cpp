// What a block mask holds besides the right bits: few runs, shared stencils, ranks, orders, and a small cost to build.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "jali/block_mask.h"
#include "jali/error.h"
#include "jali/predicate_text.h"
#include "support/random_seed.h"

namespace jali {
namespace {

using namespace indices;

Domain square(int64_t length) {
    return {.batch = 1, .heads = 1, .q_len = length, .kv_len = length};
}

Predicate documents_causal(const std::vector<int64_t>& lengths) {
    const Table doc = Table::documents("doc", lengths);
    return doc[q] == doc[kv] && q >= kv;
}

TEST(Structure, CausalHasOneStencilAndTwoRunsARow) {
    const BlockMask mask = build_block_mask(q >= kv, {.domain = square(4096)});
    EXPECT_EQ(mask.stencils().size(), 1U);
    const HeadView head = mask.head(0, 0);
    EXPECT_EQ(head.row(0).size(), 1U);
    for (int64_t tile = 1; tile < 32; ++tile) {
        ASSERT_EQ(head.row(tile).size(), 2U);
        EXPECT_EQ(head.row(tile)[0], (jali::Run{0, static_cast<int32_t>(tile), kFull}));
        EXPECT_EQ(head.row(tile)[1], (jali::Run{static_cast<int32_t>(tile), 1, 0}));
    }
}

TEST(Structure, AWindowHasTwoStencils) {
    EXPECT_EQ(build_block_mask(0 <= q - kv && q - kv < 1024, {.domain = square(16384)}).stencils().size(), 2U);
}

TEST(Structure, AnUnusedBatchOrHeadIsBroadcast) {
    const Table width("width", std::vector<int64_t>{5, 500});
    const Domain domain{.batch = 3, .heads = 2, .q_len = 300, .kv_len = 300};
    const BlockMask causal = build_block_mask(q >= kv, {.domain = domain});
    EXPECT_EQ(causal.batch(), 1);
    EXPECT_EQ(causal.heads(), 1);
    EXPECT_EQ(causal.head(2, 1).row(0).size(), causal.head(0, 0).row(0).size());
    const BlockMask by_head = build_block_mask(q - kv < width[h], {.domain = domain});
    EXPECT_EQ(by_head.batch(), 1);
    EXPECT_EQ(by_head.heads(), 2);
    EXPECT_THROW(by_head.head(0, 2), Error);
}

TEST(Structure, AutomaticTakesTheGridWithFewestComputedPairs) {
    const Predicate keep = documents_causal({500, 500, 500, 500, 500});
    const auto computed = [&](GridChoice grid) {
        return statistics(build_block_mask(keep, {.domain = square(2500), .grid = grid})).computed_pairs;
    };
    EXPECT_EQ(computed(GridChoice::kAnchored), 5 * 10 * 128 * 128);
    EXPECT_LT(computed(GridChoice::kAnchored), computed(GridChoice::kAligned));
    EXPECT_EQ(computed(GridChoice::kAutomatic), computed(GridChoice::kAnchored));
    // Many tiny documents: anchored tiles would be short and many.
    const std::vector<int64_t> tiny(200, 9);
    const BlockMask mask = build_block_mask(documents_causal(tiny), {.domain = square(1800)});
    EXPECT_TRUE(mask.aligned());
}

TEST(Structure, AnchorsAreFoundOnOneSideAndServeBoth) {
    const std::vector<int64_t> starts = [] {
        std::vector<int64_t> values(1000, 0);
        std::fill(values.begin() + 300, values.end(), 300);
        return values;
    }();
    const Table start("start", starts);
    const BlockMask mask =
        build_block_mask(start[q] <= kv && kv <= q, {.domain = square(1000), .grid = GridChoice::kAnchored});
    EXPECT_EQ(mask.grid(0).q_tiles[3], (Tile{300, 128}));
    EXPECT_EQ(mask.grid(0).kv_tiles[3], (Tile{300, 128}));
    EXPECT_EQ(mask.grid(0).q_tiles[2], (Tile{256, 44}));
}

TEST(Structure, AShortTileIsNeverInAFullRun) {
    for (const GridChoice grid : {GridChoice::kAligned, GridChoice::kAnchored}) {
        const BlockMask mask = build_block_mask(kv < 333 || q >= 77, {.domain = {1, 1, 400, 700}, .grid = grid});
        const HeadView head = mask.head(0, 0);
        for (size_t q_tile = 0; q_tile < head.q_tiles.size(); ++q_tile) {
            for (const jali::Run& run : head.row(static_cast<int64_t>(q_tile))) {
                if (run.stencil != kFull) continue;
                EXPECT_EQ(head.q_tiles[q_tile].rows, 128);
                for (int32_t tile = run.first_tile; tile < run.first_tile + run.tiles; ++tile) {
                    EXPECT_EQ(head.kv_tiles[static_cast<size_t>(tile)].rows, 128);
                }
            }
        }
    }
}

TEST(Structure, RanksCountTheKeyTilesBefore) {
    const BlockMask mask = build_block_mask(q - kv > 500 || abs(q - kv) < 100, {.domain = square(2048)});
    const HeadView head = mask.head(0, 0);
    for (size_t tile = 0; tile < head.q_tiles.size(); ++tile) {
        int32_t before = 0;
        for (int64_t at = head.row_offsets[tile]; at < head.row_offsets[tile + 1]; ++at) {
            EXPECT_EQ(head.ranks[static_cast<size_t>(at)], before);
            before += head.runs[static_cast<size_t>(at)].tiles;
        }
    }
}

TEST(Structure, OrdersAreHeavyFirstAndComplete) {
    const BlockMask mask = build_block_mask(q >= kv, {.domain = square(1024)});
    const HeadView head = mask.head(0, 0);
    std::vector<int32_t> ascending(8), descending(8);
    std::iota(ascending.begin(), ascending.end(), 0);
    std::iota(descending.rbegin(), descending.rend(), 0);
    EXPECT_EQ(std::vector<int32_t>(head.q_order.begin(), head.q_order.end()), descending);
    EXPECT_EQ(std::vector<int32_t>(head.kv_order.begin(), head.kv_order.end()), ascending);
}

TEST(Structure, ALimitOfBytesRefusesBeforeMemoryIs) {
    std::mt19937_64 random(test::seed_for("limit"));
    std::vector<int64_t> values(4096);
    for (int64_t& value : values) value = static_cast<int64_t>(random() % 16);
    const Table doc("doc", values);
    try {
        build_block_mask(doc[q] == doc[kv], {.domain = square(4096), .byte_limit = 100'000});
        FAIL() << "1,024 stencils fit in 100,000 bytes";
    } catch (const LimitError& error) {
        EXPECT_NE(std::string(error.what()).find("the block mask would exceed the limit"), std::string::npos);
    }
    // Few runs by row, many by column.
    EXPECT_THROW(
        build_block_mask(floor_mod(floor_div(q, 128), 2) == 0, {.domain = square(200'000), .byte_limit = 1'000'000}),
        LimitError);
    EXPECT_THROW(build_block_mask(doc[q] == h, {.domain = {1, 2'000'000'000, 4096, 4096}}), LimitError);
}

TEST(Structure, SumsWithHugeConstantsStayExact) {
    const Expression far = (q - (int64_t{1} << 40)) * (int64_t{1} << 23);
    const BlockMask mask = build_block_mask(far < far + kv, {.domain = square(4)});
    EXPECT_EQ(statistics(mask).useful_pairs, 12);
}

TEST(Structure, CountsThatDoNotFitAreRefused) {
    const BlockMask mask = build_block_mask(true, {.domain = square(1'000'000)});
    EXPECT_THROW(statistics(mask, 100, 1'000'000), Error);
}

TEST(Structure, ADeepPredicateBuildsWithoutDeepRecursion) {
    Expression value = floor_mod(q * kv, 7);
    for (int i = 0; i < 900; ++i) value = select(floor_mod(q + kv, 2 + i % 3) == 0, value, minimum(kv, q));
    const Domain domain{.batch = 1, .heads = 1, .q_len = 40, .kv_len = 50};
    const BlockMask mask = build_block_mask(value > 3, {.domain = domain});
    std::vector<uint8_t> row(50);
    dense_row(mask, 0, 0, 31, row);
    for (int64_t key = 0; key < 50; ++key) {
        EXPECT_EQ(row[static_cast<size_t>(key)] != 0, evaluate(value > 3, domain, 0, 0, 31, key));
    }
}

// Building must cost what the mask's edges touch. The bounds are generous; a builder that looks at S x S pairs misses
// them by orders of magnitude.
struct Cost {
    int64_t evaluated_tiles, decisions, partial_tiles, rows;
};
Cost cost_of(const Predicate& keep, int64_t length) {
    BuildStatistics built;
    const BlockMask mask = build_block_mask(keep, {.domain = square(length), .grid = GridChoice::kAligned}, &built);
    return {built.evaluated_pairs / (128 * 128), built.interval_decisions, statistics(mask).tiles.partial,
            length / 128};
}

void expect_edge_cost(const Predicate& keep, int64_t length) {
    const Cost cost = cost_of(keep, length);
    EXPECT_LE(cost.evaluated_tiles, 2 * cost.partial_tiles + cost.rows) << to_text(keep);
    EXPECT_LE(cost.decisions, 8 * (cost.partial_tiles + cost.rows) + 1000) << to_text(keep);
}

TEST(BuildCost, GrowsWithTheEdgesOfCausalWindowAndDocuments) {
    std::mt19937_64 random(test::seed_for("documents"));
    for (const int64_t length : {16384, 65536, 262144}) {
        std::vector<int64_t> lengths;
        for (int64_t left = length; left > 0; left -= lengths.back()) {
            lengths.push_back(std::min<int64_t>(left, 512 + static_cast<int64_t>(random() % 3584)));
        }
        expect_edge_cost(q >= kv, length);
        expect_edge_cost(0 <= q - kv && q - kv < 1024, length);
        expect_edge_cost(documents_causal(lengths), length);
    }
}

TEST(BuildCost, GrowsWithTheEdgesOfRandomAffineBands) {
    std::mt19937_64 random(test::seed_for("bands"));
    const auto factor = [&] { return 1 + static_cast<int64_t>(random() % 7); };
    for (int trial = 0; trial < 20; ++trial) {
        const int64_t length = 32768, offset = static_cast<int64_t>(random() % 30000);
        const Expression line = factor() * q - factor() * kv + kv;
        expect_edge_cost(line >= offset && line <= offset + 20000, length);
        expect_edge_cost(line >= offset || factor() * kv >= 5 * q + offset, length);
    }
}

TEST(BuildCost, GrowsWithTheEdgesOfNestedGathersOfSortedTables) {
    std::mt19937_64 random(test::seed_for("gathers"));
    std::vector<int64_t> lengths;
    const int64_t length = 65536;
    for (int64_t left = length; left > 0; left -= lengths.back()) {
        lengths.push_back(std::min<int64_t>(left, 700 + static_cast<int64_t>(random() % 5000)));
    }
    std::vector<int64_t> offsets{0};
    for (const int64_t each : lengths) offsets.push_back(offsets.back() + each);
    const Table doc = Table::documents("doc", lengths), begin("begin", offsets);
    const Expression inside = begin[doc[q]] <= kv && kv < begin[doc[q] + 1];
    expect_edge_cost(inside, length);
    expect_edge_cost(inside && q >= kv, length);
    expect_edge_cost((inside && q >= kv) || kv < 1000 || abs(q - kv) < 300, length);
}

TEST(BuildCost, OfSearchingAnchorsAndTryingGridsIsCounted) {
    const std::vector<int64_t> lengths{1000, 24, 1000, 2072};
    const Predicate keep = documents_causal(lengths);
    BuildStatistics aligned, automatic;
    build_block_mask(keep, {.domain = square(4096), .grid = GridChoice::kAligned}, &aligned);
    build_block_mask(keep, {.domain = square(4096)}, &automatic);
    EXPECT_GT(automatic.interval_decisions, aligned.interval_decisions);
    EXPECT_LE(automatic.interval_decisions, 8 * aligned.interval_decisions);
    EXPECT_LE(automatic.evaluated_pairs, 3 * aligned.evaluated_pairs);
}

TEST(BuildCost, DecisionsOfCausalDoubleWithTheLength) {
    const Cost shorter = cost_of(q >= kv, 65536), longer = cost_of(q >= kv, 131072);
    EXPECT_LE(longer.decisions, 2.2 * static_cast<double>(shorter.decisions));
}

}  // namespace
}  // namespace jali

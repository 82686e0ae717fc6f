// Parts of masks, masks from lists and dense bits, and what assembling refuses.
#include <gtest/gtest.h>

#include <random>

#include "jali/block_mask.h"
#include "jali/error.h"
#include "support/random_seed.h"

namespace jali {
namespace {

using namespace indices;

template <class Action>
std::string message_of(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

std::vector<uint8_t> bits_of(const BlockMask& mask, int64_t at_b, int64_t at_h) {
    std::vector<uint8_t> bits, row(static_cast<size_t>(mask.kv_len()));
    for (int64_t query = 0; query < mask.q_len(); ++query) {
        dense_row(mask, at_b, at_h, query, row);
        bits.insert(bits.end(), row.begin(), row.end());
    }
    return bits;
}

TEST(Slice, KeepsTheBitsOfItsBatchesAndHeads) {
    const Domain domain{.batch = 3, .heads = 4, .q_len = 200, .kv_len = 300};
    const BlockMask mask = build_block_mask(q - kv < 40 * h - 30 * b, {.domain = domain});
    const BlockMask part = slice(mask, 1, 3, 2, 3);
    EXPECT_EQ(part.batch(), 2);
    EXPECT_EQ(part.heads(), 1);
    for (int64_t batch = 0; batch < 2; ++batch) EXPECT_EQ(bits_of(part, batch, 0), bits_of(mask, batch + 1, 2));
    EXPECT_LE(part.stencils().size(), mask.stencils().size());
    const BlockMask causal = build_block_mask(q >= kv, {.domain = domain});
    EXPECT_EQ(slice(causal, 2, 3, 0, 4), causal);  // broadcast stays broadcast
    EXPECT_EQ(message_of([&] { slice(mask, 2, 4, 0, 1); }), "batches 2 to 4 are asked of a block mask that has 3");
    EXPECT_EQ(message_of([&] { slice(mask, 0, 1, 2, 2); }), "heads 2 to 2 are asked of a block mask that has 4");
}

TEST(Crop, OfAnAlignedMaskIsTheMaskOfTheShorterLengths) {
    const auto built = [](int64_t q_length, int64_t kv_length) {
        return build_block_mask(abs(q - kv) < 200 && floor_mod(kv, 5) != 0,
                                {.domain = {1, 1, q_length, kv_length}, .grid = GridChoice::kAligned});
    };
    const BlockMask whole = built(700, 900);
    for (const auto& [q_length, kv_length] : {std::pair{700, 900}, {699, 1}, {128, 256}, {0, 5}, {5, 0}, {384, 899}}) {
        EXPECT_EQ(crop(whole, q_length, kv_length), built(q_length, kv_length)) << q_length << " x " << kv_length;
    }
    EXPECT_EQ(message_of([&] { crop(whole, 701, 10); }),
              "a block mask of 700 queries and 900 keys cannot be cropped to 701 and 10");
}

TEST(BlockLists, KeepWhatTheyListAtAnyBlockSize) {
    std::mt19937_64 random(test::seed_for("lists"));
    for (const auto& [q_rows, kv_rows] :
         {std::pair<int64_t, int64_t>{64, 64}, {256, 128}, {100, 30}, {1, 1}, {5000, 7}}) {
        const Domain domain{.batch = 2, .heads = 3, .q_len = 310, .kv_len = 270};
        BlockLists lists{.q_block_rows = q_rows, .kv_block_rows = kv_rows};
        const int64_t q_blocks = (310 + q_rows - 1) / q_rows, kv_blocks = (270 + kv_rows - 1) / kv_rows;
        std::vector<uint8_t> expected(static_cast<size_t>(2 * 3 * 310 * 270), 0);
        for (int i = 0; i < 40; ++i) {
            const KeptBlock block{static_cast<int32_t>(random() % 2), static_cast<int32_t>(random() % 3),
                                  static_cast<int32_t>(random() % static_cast<uint64_t>(q_blocks)),
                                  static_cast<int32_t>(random() % static_cast<uint64_t>(kv_blocks))};
            lists.blocks.push_back(block);
            lists.blocks.push_back(block);  // a repeat is one
            for (int64_t row = block.q_block * q_rows; row < std::min<int64_t>(310, (block.q_block + 1) * q_rows);
                 ++row) {
                for (int64_t key = block.kv_block * kv_rows;
                     key < std::min<int64_t>(270, (block.kv_block + 1) * kv_rows); ++key) {
                    expected[static_cast<size_t>(((block.b * 3 + block.h) * 310 + row) * 270 + key)] = row >= key - 50;
                }
            }
        }
        const BlockMask mask = block_mask_from_blocks(lists, {.domain = domain}, q >= kv - 50);
        for (int64_t head = 0; head < 6; ++head) {
            const auto from = expected.begin() + head * 310 * 270;
            EXPECT_EQ(bits_of(mask, head / 3, head % 3), std::vector<uint8_t>(from, from + 310 * 270));
        }
    }
}

TEST(BlockLists, OfBlocksThatAreNotThereAreRefused) {
    const BuildOptions options{.domain = {1, 1, 256, 256}};
    EXPECT_EQ(message_of([&] {
                  block_mask_from_blocks({128, 128, {{0, 0, 2, 0}}}, options);
              }),
              "a kept block has query block 2 and there are 2");
    EXPECT_EQ(message_of([&] {
                  block_mask_from_blocks({128, 128, {{0, 1, 0, 0}}}, options);
              }),
              "a kept block has head 1 and there are 1");
    EXPECT_EQ(message_of([&] {
                  block_mask_from_blocks({0, 128, {}}, options);
              }),
              "blocks have 0 query rows and 128 keys and must have at least 1");
}

TEST(DenseBits, ComeBack) {
    std::mt19937_64 random(test::seed_for("dense"));
    std::vector<uint8_t> bits(2 * 1 * 190 * 261);
    for (uint8_t& bit : bits) bit = random() % 3 == 0 ? 1 : 0;
    const BlockMask mask = block_mask_from_dense(bits, {.domain = {2, 1, 190, 261}});
    for (int64_t batch = 0; batch < 2; ++batch) {
        const auto from = bits.begin() + batch * 190 * 261;
        EXPECT_EQ(bits_of(mask, batch, 0), std::vector<uint8_t>(from, from + 190 * 261));
    }
    EXPECT_EQ(message_of([&] {
                  block_mask_from_dense(bits, {.domain = {1, 1, 190, 261}});
              }),
              "table kept_pairs of shape [1, 1, 190, 261] needs 49590 values but has 99180");
}

TEST(Domain, ImpossibleOnesAreRefused) {
    EXPECT_EQ(message_of([] {
                  build_block_mask(true, {.domain = {0, 1, 5, 5}});
              }),
              "the batch count is 0 and must be 1 to 2147483647");
    EXPECT_EQ(message_of([] {
                  build_block_mask(true, {.domain = {1, 1, -5, 5}});
              }),
              "the query length is -5 and must be 0 to 2147483647");
    EXPECT_EQ(message_of([] {
                  build_block_mask(true, {.domain = {1, 1, 5, int64_t{1} << 31}});
              }),
              "the key length is 2147483648 and must be 0 to 2147483647");
}

// A mask of 300 x 300, causal: three query tiles.
BlockMask::Parts causal_parts() {
    const BlockMask mask = build_block_mask(q >= kv, {.domain = {1, 1, 300, 300}, .grid = GridChoice::kAligned});
    const HeadView head = mask.head(0, 0);
    BlockMask::Parts parts;
    parts.q_len = parts.kv_len = 300;
    parts.grids = {mask.grid(0)};
    parts.row_offsets = {{head.row_offsets.begin(), head.row_offsets.end()}};
    parts.runs = {{head.runs.begin(), head.runs.end()}};
    parts.stencils.assign(mask.stencils().begin(), mask.stencils().end());
    return parts;
}

struct Broken {
    const char* name;
    void (*damage)(BlockMask::Parts&);
    const char* message;
};
class Assemble : public testing::TestWithParam<Broken> {};

TEST_P(Assemble, RefusesInconsistentParts) {
    BlockMask::Parts parts = causal_parts();
    EXPECT_NO_THROW(BlockMask::assemble(parts));
    GetParam().damage(parts);
    EXPECT_EQ(message_of([&] { BlockMask::assemble(std::move(parts)); }), GetParam().message);
}

using P = BlockMask::Parts;
INSTANTIATE_TEST_SUITE_P(
    Parts, Assemble,
    testing::Values(
        Broken{"TileGap", [](P& p) { p.grids[0].q_tiles[1].begin = 129; },
               "query tile 1 begins at 129 and the one before it ends at 128"},
        Broken{"TileTooLong", [](P& p) { p.grids[0].kv_tiles[0].rows = 129; },
               "key tile 0 has 129 rows and must have 1 to 128"},
        Broken{"Length", [](P& p) { p.q_len = 301; }, "the query tiles hold 300 rows and the length is 301"},
        Broken{"Grids", [](P& p) { p.batch = 2; }, "there are 1 grids for 2 batches"},
        Broken{"Heads", [](P& p) { p.heads = 2; }, "there are row offsets for 1 and runs for 1 of 2 heads"},
        Broken{"Offsets", [](P& p) { p.row_offsets[0].pop_back(); }, "head 0 has 3 row offsets for 3 query tiles"},
        Broken{"OffsetsFall", [](P& p) { p.row_offsets[0][2] = 0; }, "the row offsets of head 0 fall from 1 to 0"},
        Broken{"OffsetsFar", [](P& p) { p.row_offsets[0][1] = 40; }, "row offset 40 of head 0 lies beyond its 5 runs"},
        Broken{"Stencil", [](P& p) { p.runs[0][0].stencil = 9; }, "head 0, query tile 0: stencil 9 of 3"},
        Broken{"RunBeyond", [](P& p) { p.runs[0][0].tiles = 4; },
               "head 0, query tile 0: a run of 4 key tiles from 0 on, after 0 and among 3"},
        Broken{"RunsOverlap", [](P& p) { p.runs[0][2].first_tile = 0; },
               "head 0, query tile 1: a run of 1 key tiles from 0 on, after 1 and among 3"},
        Broken{"RunsToJoin", [](P& p) { p.runs[0][2].stencil = kFull; },
               "head 0, query tile 1: the runs before and from key tile 1 should be one"},
        Broken{"FullShort", [](P& p) { p.runs[0][4].stencil = kFull; },
               "head 0, query tile 2: a run keeps 128 rows of a tile of 44"},
        Broken{"StencilTooWide", [](P& p) { p.stencils[2].words[1] = 1; },
               "head 0, query tile 2, key tile 2: a run keeps 65 columns of a tile of 44"},
        Broken{"EmptyStencil", [](P& p) { p.stencils[2] = Stencil{}; }, "stencil 2 keeps no pair"},
        Broken{"FullStencil", [](P& p) { p.stencils[0].words.fill(~uint64_t{0}); }, "stencil 0 keeps every pair"},
        Broken{"RepeatedStencil", [](P& p) { p.stencils[1] = p.stencils[0]; }, "stencil 1 repeats stencil 0"}),
    [](const auto& broken) { return broken.param.name; });

}  // namespace
}  // namespace jali

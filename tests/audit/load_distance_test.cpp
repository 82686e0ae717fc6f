#include "audit/load_distance.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "audit/control_flow.h"
#include "audit/serialisation.h"

namespace jali::audit {
namespace {

constexpr uint64_t kLoadGlobal = 0x981, kLoadShared = 0x984, kMove = 0x202, kNop = 0x918, kDepbar = 0x91a;
constexpr uint64_t kAlways = 7 << 12;
constexpr uint64_t kNone = 7;

// The word of `opcode` that holds one scoreboard and waits for a set of others.
struct Step {
    uint64_t opcode = kNop;
    uint64_t holds = kNone;
    uint64_t waits = 0;
    uint64_t low = 0;
};

std::vector<Instruction> decoded(const std::vector<Step>& steps) {
    std::vector<uint64_t> words;
    for (const Step& step : steps) {
        words.push_back(step.low | step.opcode | kAlways);
        words.push_back(step.holds << 46 | step.waits << 52);
    }
    return decode({reinterpret_cast<const uint8_t*>(words.data()), 8 * words.size()}, "sm_90");
}

LoadDistance distances(const std::vector<Step>& steps, InstructionKind memory = InstructionKind::kGlobal,
                       const std::vector<Loop>& loops = {}) {
    return load_distance_of(decoded(steps), loops, memory);
}

constexpr Step kNothing = {};

TEST(LoadDistance, CountsWhatStandsBetweenALoadAndItsWait) {
    const LoadDistance distance = distances({{kLoadGlobal, 5}, kNothing, kNothing, {kMove, kNone, 1 << 5}});
    EXPECT_EQ(distance.loads, 1);
    EXPECT_EQ(distance.median, 2);
    EXPECT_EQ(distance.under_8, 1);
}

TEST(LoadDistance, OtherScoreboardsAreNotItsWait) {
    EXPECT_EQ(distances({{kLoadGlobal, 5}, {kMove, kNone, 1 << 4}, {kMove, kNone, 1 << 5}}).median, 1);
    EXPECT_EQ(distances({{kLoadGlobal, 0}, {kMove, kNone, 1 << 5}, {kMove, kNone, 1 | 1 << 3}}).median, 1);
}

TEST(LoadDistance, OfAnUnusedLoadIsNotCounted) {
    EXPECT_EQ(distances({{kLoadGlobal, 5}, kNothing}).loads, 0);
    EXPECT_EQ(distances({{kLoadGlobal, kNone}, {kMove, kNone, 0x3f}}).loads, 0);
}

TEST(LoadDistance, MemoriesAreApart) {
    const std::vector<Step> steps = {{kLoadGlobal, 0}, {kLoadShared, 1}, {kMove, kNone, 2}, {kMove, kNone, 1}};
    EXPECT_EQ(distances(steps).median, 2);
    EXPECT_EQ(distances(steps, InstructionKind::kShared).median, 0);
}

TEST(LoadDistance, TheMedianIsTheUpperOfTwoAndNearLoadsAreCounted) {
    std::vector<Step> steps = {{kLoadGlobal, 0}};
    steps.insert(steps.end(), 7, kNothing);
    steps.push_back({kLoadGlobal, 1, 1});
    steps.insert(steps.end(), 8, kNothing);
    steps.push_back({kMove, kNone, 2});
    const LoadDistance distance = distances(steps);
    EXPECT_EQ(distance.loads, 2);
    EXPECT_EQ(distance.median, 8);
    EXPECT_EQ(distance.under_8, 1);
}

// DEPBAR.LE SB0, count: as nvdisasm 13.5 shows 0x000080800000791a for a count of 2.
TEST(LoadDistance, ACountingWaitIsForTheOldest) {
    const Step depbar = {kDepbar, kNone, 0, uint64_t{1} << 47 | uint64_t{1} << 38};
    const std::vector<Step> one_late = {{kLoadGlobal, 0}, {kLoadGlobal, 0}, depbar, kNothing, {kMove, kNone, 1}};
    const LoadDistance distance = distances(one_late);
    EXPECT_EQ(distance.loads, 2);
    EXPECT_EQ(distance.under_8, 2);
    EXPECT_EQ(distance.median, 2);  // the first waits 1, the second 2
    EXPECT_EQ(distances({{kLoadGlobal, 0}, depbar, {kMove, kNone, 1}}).median, 1);
}

TEST(LoadDistance, GoesOnAtTheBeginOfTheLoopAroundIt) {
    // A loop of instructions 1 to 4, whose load at its end is used at its begin.
    const std::vector<Step> steps = {kNothing,         {kMove, kNone, 1}, kNothing,
                                     {kLoadGlobal, 0}, kNothing,          {kMove, kNone, 1}};
    const std::vector<Loop> loops = {{.begin = 16, .end = 80}};
    EXPECT_EQ(distances(steps, InstructionKind::kGlobal, loops).median, 1);
    EXPECT_EQ(distances(steps, InstructionKind::kGlobal).median, 1);
    const std::vector<Step> used_behind = {kNothing, {kLoadGlobal, 0}, kNothing, kNothing, {kMove, kNone, 1}};
    EXPECT_EQ(distances(used_behind, InstructionKind::kGlobal, {{.begin = 0, .end = 48}}).median, 2);
}

// As ptxas 13.0.88 writes them, and nvdisasm 13.5 shows.
constexpr std::pair<uint64_t, uint64_t> kArrive = {0x00000000000079c5, 0x000fcc0000000000},
                                        kInGroup = {0x00000000041879f0, 0x000fe20008701818},
                                        kEndsGroup = {0x00000000041879f0, 0x000fe60008001818},
                                        kWaitForAll = {0x00008000000079c5, 0x000fe40000010000},
                                        kWaitForAllButOne = {0x00008000000079c5, 0x000fe40000010100};

bool is_serialised(const std::vector<std::pair<uint64_t, uint64_t>>& words) {
    static_assert(sizeof(words[0]) == 16);
    return waits_after_every_wgmma(
        decode({reinterpret_cast<const uint8_t*>(words.data()), 16 * words.size()}, "sm_90a"));
}

TEST(Serialisation, IsAWaitForAllAfterEachProduct) {
    EXPECT_TRUE(is_serialised({kArrive, kEndsGroup, kWaitForAll, kArrive, kEndsGroup, kWaitForAll}));
}

TEST(Serialisation, IsNotWhereProductsOverlap) {
    EXPECT_FALSE(is_serialised({}));
    EXPECT_FALSE(is_serialised({kArrive, kEndsGroup, kWaitForAll}));  // nothing that it could overlap with
    EXPECT_FALSE(is_serialised({kArrive, kInGroup, kEndsGroup, kWaitForAll, kEndsGroup, kWaitForAll}));
    EXPECT_FALSE(is_serialised({kArrive, kEndsGroup, kEndsGroup, kWaitForAll}));
    EXPECT_FALSE(is_serialised({kArrive, kEndsGroup, kWaitForAllButOne, kArrive, kEndsGroup, kWaitForAll}));
    EXPECT_FALSE(is_serialised({kArrive, kEndsGroup, kWaitForAll, kArrive, kEndsGroup}));
}

}  // namespace
}  // namespace jali::audit

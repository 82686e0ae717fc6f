#include "audit/control_flow.h"

#include <gtest/gtest.h>

#include <random>

#include "audit/machine_code.h"

namespace jali::audit {
namespace {

using test::Assembler;

ControlFlow flow_of(const Assembler& assembler, const CodeFacts& facts = {}) {
    return control_flow_of(assembler.code(), facts, 128);
}

const Block& block_at(const ControlFlow& flow, int64_t instruction) {
    return flow.blocks[static_cast<size_t>(flow.block_of[static_cast<size_t>(instruction)])];
}

// As indices of first instructions.
std::vector<int64_t> successors_at(const ControlFlow& flow, int64_t instruction) {
    std::vector<int64_t> begins;
    for (const int64_t block : block_at(flow, instruction).successors)
        begins.push_back(flow.blocks[static_cast<size_t>(block)].begin);
    return begins;
}

using Begins = std::vector<int64_t>;

TEST(ControlFlow, OfNoCodeIsOneEmptyRole) {
    const ControlFlow flow = control_flow_of({}, {}, 40);
    EXPECT_TRUE(flow.blocks.empty());
    ASSERT_EQ(flow.roles.size(), 1U);
    EXPECT_EQ(flow.roles[0].registers, 40);
    EXPECT_EQ(flow.roles[0].instructions, 0);
}

// Encodings as nvdisasm 13.5 shows them: "@!P0 BRA" over 0x30 bytes forwards, "@!P0 BRA P1" 0x1c0 back.
TEST(Branch, ReadsDisplacementsAsBothEncodingsHaveThem) {
    const auto target = [](uint64_t low, uint64_t high, BranchEncoding encoding) {
        Instruction instruction;
        instruction.offset = 0x1000;
        instruction.low = low;
        instruction.high = high;
        return branch_of(instruction, encoding).target.value_or(-1);
    };
    EXPECT_EQ(target(0x0000003000008947, 0x000fea0003800000, BranchEncoding::kSm80), 0x1040);
    EXPECT_EQ(target(0xfffffe4000008947, 0x000fea000083ffff, BranchEncoding::kSm80), 0xe50);
    EXPECT_EQ(target(0x00000000000c8947, 0x000fea0003800000, BranchEncoding::kSm90), 0x1040);
    EXPECT_EQ(target(0xfffffffc00908947, 0x000fea000083ffff, BranchEncoding::kSm90), 0xe50);
    EXPECT_EQ(target(0x00000000000c7944, 0x021fea0003c00000, BranchEncoding::kSm90), 0x1040);
}

class ControlFlowOfBothEncodings : public testing::TestWithParam<BranchEncoding> {};
INSTANTIATE_TEST_SUITE_P(Encodings, ControlFlowOfBothEncodings,
                         testing::Values(BranchEncoding::kSm80, BranchEncoding::kSm90));

TEST_P(ControlFlowOfBothEncodings, FollowsJumpsForwardsAndBack) {
    Assembler code(GetParam());
    code.nop();
    code.jump(4, 0);  // 1: @P0 BRA 4
    code.nop();
    code.jump(0);  // 3
    code.exit();   // 4
    code.jump(5);  // 5: what ends every section
    const ControlFlow flow = flow_of(code);
    EXPECT_EQ(successors_at(flow, 1), (Begins{2, 4}));
    EXPECT_EQ(successors_at(flow, 3), (Begins{0}));
    EXPECT_EQ(successors_at(flow, 4), (Begins{}));
    EXPECT_EQ(block_at(flow, 5).loop_depth, -1);
    EXPECT_EQ(block_at(flow, 5).role, -1);
}

TEST(ControlFlow, GoesOnBehindEveryKindOfCondition) {
    Assembler code;
    code.jump(6, 8 | 2);      // 0: @!P2
    code.jump_second(6, 1);   // 1: BRA P1
    code.jump_uniform(6, 0);  // 2: BRA.U UP0
    code.jump_diverged(6);    // 3: BRA.DIV
    code.jump_uniform(6, 7);  // 4: BRA.U UPT
    code.nop();               // 5
    code.exit();              // 6
    const ControlFlow flow = flow_of(code);
    for (const int64_t conditional : {0, 1, 2, 3})
        EXPECT_EQ(successors_at(flow, conditional), (Begins{conditional + 1, 6})) << conditional;
    EXPECT_EQ(successors_at(flow, 4), (Begins{6}));
    EXPECT_EQ(block_at(flow, 5).loop_depth, -1);
}

TEST(ControlFlow, OfAPredicatedExitGoesOnAndOfANeverTakenJumpOnlyOn) {
    Assembler code;
    code.exit(8);         // 0: @!P0 EXIT
    code.jump(3, 8 | 7);  // 1: @!PT BRA
    code.exit();          // 2
    code.exit();          // 3
    const ControlFlow flow = flow_of(code);
    EXPECT_EQ(successors_at(flow, 0), (Begins{1}));
    EXPECT_EQ(block_at(flow, 1).begin, block_at(flow, 2).begin);
    EXPECT_EQ(block_at(flow, 3).loop_depth, -1);
}

TEST(ControlFlow, OfAnIndirectJumpGoesWhereTheFileSays) {
    Assembler code;
    code.indirect();
    for (int i = 0; i < 3; ++i) code.exit();
    EXPECT_EQ(successors_at(flow_of(code), 0), (Begins{}));
    CodeFacts facts;
    facts.indirect_targets[0] = {16, 48, 48, 7, 1 << 20, -16};
    const ControlFlow flow = flow_of(code, facts);
    EXPECT_EQ(successors_at(flow, 0), (Begins{1, 3}));
    EXPECT_EQ(block_at(flow, 2).loop_depth, -1);
    EXPECT_EQ(block_at(flow, 3).loop_depth, 0);
}

TEST(Loops, NestAndCountTheirInstructions) {
    Assembler code;
    code.nop();
    code.nop();       // 1: outer header
    code.nop();       // 2: inner header
    code.jump(5, 0);  // 3
    code.nop();       // 4
    code.jump(2, 1);  // 5: inner latch
    code.jump(1, 2);  // 6: outer latch
    code.jump(7, 3);  // 7: a loop of one instruction
    code.exit();      // 8
    const ControlFlow flow = flow_of(code);
    ASSERT_EQ(flow.loops.size(), 3U);
    const Loop &outer = flow.loops[0], &inner = flow.loops[1], &own = flow.loops[2];
    EXPECT_EQ(outer.begin, 16);
    EXPECT_EQ(outer.end, 7 * 16);
    EXPECT_EQ(outer.depth, 1);
    EXPECT_FALSE(outer.innermost);
    EXPECT_EQ(outer.instructions, 6);
    EXPECT_EQ(outer.branches, 3);
    EXPECT_EQ(inner.begin, 32);
    EXPECT_EQ(inner.end, 6 * 16);
    EXPECT_EQ(inner.depth, 2);
    EXPECT_TRUE(inner.innermost);
    EXPECT_EQ(inner.instructions, 4);
    EXPECT_EQ(inner.branches, 2);
    EXPECT_EQ(own.instructions, 1);
    EXPECT_TRUE(own.innermost);
    const std::vector<int64_t> depths = {0, 1, 2, 2, 2, 2, 1, 1, 0};
    const std::vector<int64_t> loops = {-1, 0, 1, 1, 1, 1, 0, 2, -1};
    for (size_t i = 0; i < depths.size(); ++i) {
        EXPECT_EQ(block_at(flow, static_cast<int64_t>(i)).loop_depth, depths[i]) << i;
        EXPECT_EQ(block_at(flow, static_cast<int64_t>(i)).loop, loops[i]) << i;
    }
    EXPECT_EQ(flow.outer, (std::vector<int64_t>{-1, 0, -1}));
}

TEST(Loops, OfOneHeaderAreOne) {
    Assembler code;
    code.nop();       // 0: header, also where the code begins
    code.jump(0, 0);  // 1: continue
    code.nop();
    code.jump(0, 1);  // 3
    code.exit();
    const ControlFlow flow = flow_of(code);
    ASSERT_EQ(flow.loops.size(), 1U);
    EXPECT_EQ(flow.loops[0].instructions, 4);
    EXPECT_EQ(flow.loops[0].end, 4 * 16);
}

TEST(Loops, OfSeveralEntriesAreOneWithWhatIsInside) {
    Assembler code;
    code.jump(3, 0);  // 0: enters in the middle
    code.nop();       // 1: first entry
    code.jump(2, 1);  // 2: an inner loop
    code.nop();       // 3: second entry
    code.jump(1, 2);  // 4
    code.exit();
    const ControlFlow flow = flow_of(code);
    ASSERT_EQ(flow.loops.size(), 2U);
    EXPECT_EQ(flow.loops[0].begin, 16);
    EXPECT_EQ(flow.loops[0].instructions, 4);
    EXPECT_FALSE(flow.loops[0].innermost);
    EXPECT_EQ(flow.loops[1].begin, 32);
    EXPECT_EQ(flow.loops[1].depth, 2);
}

TEST(Loops, AreNotStretchedByColdCodeElsewhere) {
    Assembler code;
    code.jump(6, 0);  // 0: header, to cold code
    code.nop();
    code.jump(0, 1);  // 2
    code.nop();
    code.nop();
    code.exit();   // 5
    code.nop();    // 6: cold
    code.jump(1);  // 7
    const ControlFlow flow = flow_of(code);
    ASSERT_EQ(flow.loops.size(), 1U);
    EXPECT_EQ(flow.loops[0].end, 3 * 16);
    EXPECT_EQ(flow.loops[0].instructions, 5);
    EXPECT_EQ(block_at(flow, 6).loop_depth, 1);
    EXPECT_EQ(block_at(flow, 6).loop, 0);
}

TEST(Calls, ComeBackAndAreAsDeepAsTheirDeepestCaller) {
    Assembler code;
    code.call(5);     // 0: outside of every loop
    code.call(5);     // 1: in a loop
    code.jump(1, 0);  // 2
    code.call_register();
    code.exit();      // 4
    code.nop();       // 5: the function, with a loop of its own
    code.jump(5, 0);  // 6
    code.ret();       // 7
    const ControlFlow flow = flow_of(code);
    EXPECT_EQ(successors_at(flow, 0), (Begins{1}));
    EXPECT_EQ(successors_at(flow, 3), (Begins{4}));
    EXPECT_EQ(block_at(flow, 1).loop_depth, 1);
    EXPECT_EQ(block_at(flow, 4).loop_depth, 0);
    EXPECT_EQ(block_at(flow, 5).loop_depth, 2);
    EXPECT_EQ(block_at(flow, 7).loop_depth, 1);
    ASSERT_EQ(flow.loops.size(), 2U);
    EXPECT_EQ(flow.loops[0].instructions, 2);
    EXPECT_EQ(flow.loops[1].depth, 2);
}

TEST(Calls, UnderAPredicateAreJumpsOutOfALoop) {
    Assembler code;
    code.nop();       // 0
    code.call(3, 0);  // 1: @P0 CALL.REL
    code.jump(0);     // 2
    code.exit();      // 3
    const ControlFlow flow = flow_of(code);
    EXPECT_EQ(successors_at(flow, 1), (Begins{2, 3}));
    EXPECT_EQ(block_at(flow, 3).loop_depth, 0);
}

TEST(Calls, ThatCallThemselvesFromALoopEnd) {
    Assembler code;
    code.call(2);
    code.exit();
    code.call(2);     // 2: recursive, in a loop
    code.jump(2, 0);  // 3
    code.ret();
    const ControlFlow flow = flow_of(code);
    EXPECT_GE(block_at(flow, 2).loop_depth, 1);
    EXPECT_LE(block_at(flow, 2).loop_depth, 32);
}

TEST(Roles, BeginAtEachSetmaxnreg) {
    Assembler code;
    code.jump(5, 0);          // 0
    code.set_registers(240);  // 1
    code.jump_uniform(1, 8);  // 2: the allocation is tried again
    code.nop();               // 3
    code.jump(8);             // 4
    code.set_registers(24);   // 5
    code.nop();
    code.jump(8);  // 7
    code.exit();   // 8: of both: the smaller budget has to do
    const ControlFlow flow = flow_of(code);
    ASSERT_EQ(flow.roles.size(), 3U);
    EXPECT_EQ(flow.roles[0].registers, 128);
    EXPECT_EQ(flow.roles[0].begin, 0);
    EXPECT_EQ(flow.roles[0].instructions, 1);
    EXPECT_EQ(flow.roles[1].registers, 240);
    EXPECT_EQ(flow.roles[1].begin, 16);
    EXPECT_EQ(flow.roles[1].instructions, 4);
    EXPECT_EQ(flow.roles[2].registers, 24);
    EXPECT_EQ(flow.roles[2].begin, 5 * 16);
    EXPECT_EQ(flow.roles[2].instructions, 4);
    EXPECT_EQ(block_at(flow, 8).role, 2);
    ASSERT_EQ(flow.loops.size(), 1U);
    EXPECT_EQ(flow.loops[0].role, 1);
}

TEST(Roles, OfOneBudgetThatMeetAreOne) {
    Assembler code;
    code.jump(3, 0);          // 0
    code.set_registers(232);  // 1
    code.jump(5);             // 2
    code.set_registers(232);  // 3
    code.jump(5);             // 4
    code.nop();               // 5
    code.jump(8, 1);          // 6
    code.exit();              // 7
    code.call(10);            // 8: a function belongs to the role of its callers
    code.exit();              // 9
    code.ret();               // 10
    const ControlFlow flow = flow_of(code);
    ASSERT_EQ(flow.roles.size(), 2U);
    EXPECT_EQ(flow.roles[1].begin, 16);
    EXPECT_EQ(flow.roles[1].instructions, 10);
    EXPECT_EQ(block_at(flow, 10).role, 1);
}

TEST(Roles, OfOneBudgetThatNeverMeetAreTwo) {
    Assembler code;
    code.jump(3, 0);
    code.set_registers(88);
    code.exit();
    code.set_registers(88);
    code.exit();
    EXPECT_EQ(flow_of(code).roles.size(), 3U);
}

TEST(ControlFlow, IgnoresWhatLiesOutsideOfTheCode) {
    Assembler code;
    code.jump(1000, 0);
    code.jump(-1000, 0);
    code.call(-5);
    code.exit();
    CodeFacts facts;
    facts.entries = {0, 8, -16, 1 << 30};
    const ControlFlow flow = flow_of(code, facts);
    EXPECT_EQ(successors_at(flow, 0), (Begins{1}));
    EXPECT_EQ(block_at(flow, 2).callee, -1);
    facts.entries = {};
    EXPECT_EQ(block_at(flow_of(code, facts), 0).loop_depth, -1);
}

TEST(ControlFlow, SurvivesRandomCode) {
    std::mt19937_64 random(4);
    const std::vector<uint64_t> opcodes = {0x947, 0x547, 0x944, 0x949, 0x94d, 0x950, 0x9c8, 0x918};
    for (int round = 0; round < 300; ++round) {
        std::vector<Instruction> code(200);
        for (size_t i = 0; i < code.size(); ++i) {
            code[i].offset = static_cast<int64_t>(i) * kInstructionBytes;
            code[i].low = random();
            code[i].high = random();
            if (round % 2 == 0) continue;
            // Jumps inside of the code.
            const auto words =
                static_cast<uint64_t>(static_cast<int64_t>(random() % 200) - static_cast<int64_t>(i)) * 4;
            code[i].low = opcodes[random() % opcodes.size()] | (random() & 0xf) << 12 | words << 34;
            code[i].high = (random() & 0xff) << 23 | ((words >> 30) & 0x3ffff);
        }
        const ControlFlow flow = control_flow_of(code, {}, 128);
        int64_t instructions = 0, in_roles = 0;
        for (const Block& block : flow.blocks) {
            instructions += block.end - block.begin;
            EXPECT_EQ(block.loop_depth < 0, block.role < 0);
            if (block.role >= 0) in_roles += block.end - block.begin;
        }
        for (const Role& role : flow.roles) in_roles -= role.instructions;
        EXPECT_EQ(instructions, 200);
        EXPECT_EQ(in_roles, 0);
        for (const Loop& loop : flow.loops) EXPECT_LT(loop.begin, loop.end);
    }
}

// A chain of jumps over each other and back, the worst that so many instructions can do.
TEST(ControlFlow, TakesTimeLinearInTheCode) {
    constexpr int64_t kCount = 200'000;
    Assembler nested, tangled;
    for (int64_t i = 0; i < kCount / 2; ++i) nested.nop();
    for (int64_t i = 0; i < kCount / 2; ++i) nested.jump(kCount / 2 - 1 - i, 0);
    for (int64_t i = 0; i < kCount; ++i) tangled.jump(i % 2 == 0 ? kCount - 1 - i : i / 2, 0);
    EXPECT_EQ(flow_of(nested).blocks[kCount / 2 - 1].loop_depth, 32);
    EXPECT_FALSE(flow_of(tangled).loops.empty());
}

}  // namespace
}  // namespace jali::audit

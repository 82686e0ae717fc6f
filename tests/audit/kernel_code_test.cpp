// What is told of a kernel that spills on purpose: tests/data/audit/spilling.cu, by nvcc 13.0.88 -lineinfo, of which
// `ptxas -v` says for sm_80 and for sm_90: 264 bytes stack frame, 424 bytes spill stores, 472 bytes spill loads, 32
// registers. The two differ in their containers: branches, relocations, where the architecture stands.
#include "audit/kernel_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "audit/machine_code.h"
#include "audit/spills.h"

namespace jali::audit {
namespace {

Kernel spilling(const std::string& arch, const ReadOptions& options = {}) {
    const Audit audit = read(std::string(JALI_TEST_DATA "/audit/spilling.") + arch + ".cubin", options);
    EXPECT_TRUE(audit.problems.empty());
    EXPECT_EQ(audit.kernels.size(), 1U);
    return audit.kernels.empty() ? Kernel{} : audit.kernels.front();
}

class KernelCodeOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Architectures, KernelCodeOf, testing::Values("sm_80", "sm_90"));

TEST_P(KernelCodeOf, SpillsAreTheAssemblersOwnToTheByte) {
    const Kernel kernel = spilling(GetParam());
    EXPECT_EQ(kernel.name, "spilling");
    EXPECT_EQ(kernel.registers, 32);
    EXPECT_EQ(kernel.stack_bytes, 264);
    EXPECT_EQ(kernel.spill_source, SpillSource::kAnnotations);
    EXPECT_EQ(kernel.spills.store_bytes, 424);
    EXPECT_EQ(kernel.spills.load_bytes, 472);
    EXPECT_EQ(kernel.spill_frame_bytes, 264);
    EXPECT_EQ(kernel.array_bytes, 0);
    EXPECT_EQ(kernel.mix.unknown, 0);
}

TEST_P(KernelCodeOf, SpillsLieInTheLoopThatTheSourceHas) {
    const Kernel kernel = spilling(GetParam());
    ASSERT_EQ(kernel.loops.size(), 1U);
    ASSERT_EQ(kernel.roles.size(), 1U);
    EXPECT_TRUE(kernel.loops[0].innermost);
    EXPECT_EQ(kernel.roles[0].spills, kernel.spills);
    Traffic inside, weighted;
    for (const SpillSite& site : kernel.spill_sites) {
        ASSERT_TRUE(site.loop_depth == 0 || site.loop_depth == 1) << site.offset;
        Traffic& traffic = inside;
        if (site.loop_depth == 1) (site.is_store ? traffic.store_bytes : traffic.load_bytes) += site.bytes;
        const int64_t times = site.loop_depth == 1 ? 10 : 1;
        (site.is_store ? weighted.store_bytes : weighted.load_bytes) += times * site.bytes;
    }
    EXPECT_GT(inside.load_bytes, 0);
    EXPECT_EQ(kernel.loops[0].spills.load_bytes, inside.load_bytes);
    EXPECT_EQ(kernel.spills_weighted.store_bytes, weighted.store_bytes);
    EXPECT_EQ(kernel.spills_weighted.load_bytes, weighted.load_bytes);
}

TEST_P(KernelCodeOf, EachSpillHasItsLinesOfSourceAndPtx) {
    const Kernel kernel = spilling(GetParam(), {.keep_ptx_text = true});
    const int64_t ptx_lines = std::count(kernel.ptx_text.begin(), kernel.ptx_text.end(), '\n');
    EXPECT_GT(ptx_lines, 100);
    bool inlined = false;
    for (const SpillSite& site : kernel.spill_sites) {
        EXPECT_GT(site.ptx_line, 0) << site.offset;
        EXPECT_LE(site.ptx_line, ptx_lines) << site.offset;
        ASSERT_FALSE(site.source.empty()) << site.offset;
        EXPECT_TRUE(site.source.front().file.ends_with("spilling.cu"));
        inlined = inlined || site.source.size() == 2;
    }
    EXPECT_TRUE(inlined);  // some of polynomial()
}

// STL [R1+slot], R5; LDL R5, [R1+slot]; EXIT, in front of their control words.
constexpr uint64_t kStore = 0x0000000501007387, kLoad = 0x0000000001057983, kExit = 0x000000000000794d;

Kernel told_by_opcodes(const std::vector<uint64_t>& words) {
    Kernel kernel;
    kernel.arch = "sm_90";
    kernel.registers = 32;
    kernel.stack_bytes = 64;
    kernel.spill_source = SpillSource::kOpcodes;
    std::vector<uint64_t> code;
    for (const uint64_t word : words) {
        code.push_back(word);
        code.push_back(word == kExit ? 0x000fea0003800000 : 0x000ea80000100800);
    }
    read_code({reinterpret_cast<const uint8_t*>(code.data()), 8 * code.size()}, {}, kernel);
    return kernel;
}
constexpr uint64_t at(uint64_t instruction, uint64_t slot) {
    return instruction | slot << 40;
}

TEST(KernelCode, WithoutAnnotationsLocalAccessesByTheStackPointerCount) {
    const Kernel kernel = told_by_opcodes({at(kStore, 8), at(kLoad, 8), kExit});
    EXPECT_EQ(kernel.spills, (Traffic{.stores = 1, .loads = 1, .store_bytes = 4, .load_bytes = 4}));
    ASSERT_EQ(kernel.spill_sites.size(), 2U);
    EXPECT_EQ(kernel.spill_sites[0].slot, 8);
}

TEST(KernelCode, WithoutAnnotationsWhatIsOnlyStoredOrOnlyLoadedIsAnArray) {
    const Kernel kernel =
        told_by_opcodes({at(kStore, 0), at(kStore, 8), at(kLoad, 8), at(kLoad, 12), at(kStore, 20), kExit});
    EXPECT_EQ(kernel.spills, (Traffic{.stores = 1, .loads = 1, .store_bytes = 4, .load_bytes = 4}));
    EXPECT_EQ(told_by_opcodes({at(kStore, 0), at(kLoad, 4), kExit}).spills, Traffic{});
    EXPECT_EQ(told_by_opcodes({at(kLoad, 4), at(kLoad, 0), at(kStore, 4), kExit}).spills.loads, 1);
}

// Of 9,000 spills the assembler lists 808.
TEST(Spills, LeftOutOfALongListAreThoseBehindIt) {
    std::vector<uint64_t> words;
    for (int i = 0; i < 9000; ++i) words.insert(words.end(), {kStore, 0x000ea80000100800});
    const auto left_out = [&](int64_t listed) {
        std::vector<int64_t> offsets;
        for (int64_t i = 0; i < listed; ++i) offsets.push_back(16 * i);
        return spills_left_out({reinterpret_cast<const uint8_t*>(words.data()), 8 * words.size()}, offsets);
    };
    const std::optional<std::vector<int64_t>> found = left_out(808);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->size(), 8192U);
    EXPECT_EQ(found->front(), 16 * 808);
    EXPECT_EQ(found->back(), 16 * 8999);
    EXPECT_EQ(left_out(809)->size(), 0U);                                  // too few for a list that was cut
    EXPECT_FALSE(left_out(807).has_value());                               // one that is none is among them
    words.insert(words.end(), {kStore ^ 3ULL << 24, 0x000ea80000100800});  // by R2, not by R1
    EXPECT_FALSE(left_out(808).has_value());
}

// A loop whose other half stands behind everything else, and a loop of its own between the halves.
TEST(KernelCode, SpillsBelongToTheLoopsAroundThemNotToThoseThatSpanThem) {
    test::Assembler code;
    constexpr uint64_t kStackSlot = uint64_t{1} << 24, kWord = uint64_t{4} << 9;
    code.jump(6, 0);                                    // 0: header of the first loop
    code.nop();                                         // 1
    code.add(0x387, test::kAlways, kStackSlot, kWord);  // 2: the second loop stores
    code.jump(2, 2);                                    // 3
    code.nop();                                         // 4
    code.exit();                                        // 5
    code.add(0x983, test::kAlways, kStackSlot, kWord);  // 6: the first one loads
    code.jump(0);                                       // 7
    std::vector<uint64_t> words;
    for (const Instruction& each : code.code()) words.insert(words.end(), {each.low, each.high});
    Kernel kernel;
    kernel.arch = "sm_90";
    kernel.spill_source = SpillSource::kOpcodes;
    read_code({reinterpret_cast<const uint8_t*>(words.data()), 8 * words.size()}, {}, kernel);
    ASSERT_EQ(kernel.loops.size(), 2U);
    EXPECT_EQ(kernel.loops[0].end, 8 * 16);
    EXPECT_EQ(kernel.loops[0].spills, (Traffic{.stores = 0, .loads = 1, .store_bytes = 0, .load_bytes = 4}));
    EXPECT_EQ(kernel.loops[1].spills, (Traffic{.stores = 1, .loads = 0, .store_bytes = 4, .load_bytes = 0}));
}

TEST(KernelCode, IndirectTargetsAreReadUpToTheFirstCutRecord) {
    const uint32_t words[] = {0x1f0, 0, 2, 0x150, 0x200, 0x300, 0, 9, 0x10};
    CodeInfo info;
    info.indirect_branches.emplace_back(reinterpret_cast<const uint8_t*>(words), sizeof words);
    const CodeFacts facts = code_facts_of(info, 0x100);
    ASSERT_EQ(facts.indirect_targets.size(), 1U);
    EXPECT_EQ(facts.indirect_targets.at(0xf0), (std::vector<int64_t>{0x50, 0x100}));
}

}  // namespace
}  // namespace jali::audit

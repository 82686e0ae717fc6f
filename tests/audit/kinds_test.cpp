// Each way of using local memory: tests/data/audit/kinds.cu by nvcc 13.0.88 -arch=sm_90a, without line information. The
// figures are those of `ptxas -v`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "jali/audit.h"
#include "jali/audit_assemble.h"

namespace jali::audit {
namespace {

class Kinds : public testing::Test {
   protected:
    const Kernel& kernel(const std::string& name) const { return kernels_.at(name); }

   private:
    static std::map<std::string, Kernel> read_all() {
        std::map<std::string, Kernel> kernels;
        for (Kernel& kernel : read(JALI_TEST_DATA "/audit/kinds.sm_90a.cubin").kernels)
            kernels.emplace(kernel.name, std::move(kernel));
        return kernels;
    }
    const std::map<std::string, Kernel> kernels_ = read_all();
};

void expect_spills(const Kernel& kernel, int64_t store_bytes, int64_t load_bytes) {
    EXPECT_EQ(kernel.spills.store_bytes, store_bytes) << kernel.name;
    EXPECT_EQ(kernel.spills.load_bytes, load_bytes) << kernel.name;
    EXPECT_EQ(kernel.spill_source, SpillSource::kAnnotations) << kernel.name;
}

TEST_F(Kinds, AnArrayIsNoSpill) {
    expect_spills(kernel("array_only"), 0, 0);
    EXPECT_EQ(kernel("array_only").stack_bytes, 64);
    EXPECT_EQ(kernel("array_only").array_bytes, 64);
    EXPECT_GT(kernel("array_only").mix.local, 0);
}

TEST_F(Kinds, AnArrayAndSpillsShareTheFrame) {
    const Kernel& both = kernel("array_and_spills");
    expect_spills(both, 488, 548);
    EXPECT_EQ(both.stack_bytes, 384);
    EXPECT_EQ(both.array_bytes + both.spill_frame_bytes, 384);
    EXPECT_GE(both.array_bytes, 32);
    EXPECT_LE(both.array_bytes, 48);  // slots that stay free are counted with the array
    EXPECT_GT(both.mix.local, both.spills.stores + both.spills.loads);
}

TEST_F(Kinds, SpillsToSharedMemoryAreTheirOwn) {
    const Kernel& shared = kernel("shared_spills");
    expect_spills(shared, 440, 444);
    EXPECT_EQ(shared.stack_bytes, 264);
    EXPECT_EQ(shared.array_bytes, 0);
    EXPECT_GT(shared.shared_spills.store_bytes, 0);
    EXPECT_GT(shared.shared_spills.load_bytes, 0);
    Traffic seen;
    for (const SpillSite& site : shared.spill_sites) {
        if (!site.in_shared_memory) continue;
        (site.is_store ? seen.stores : seen.loads) += 1;
        (site.is_store ? seen.store_bytes : seen.load_bytes) += site.bytes;
    }
    EXPECT_EQ(seen, shared.shared_spills);
}

TEST_F(Kinds, OneRoleSpillsAndTheOtherDoesNot) {
    const Kernel& roles = kernel("roles");
    expect_spills(roles, 1304, 1360);
    EXPECT_EQ(roles.array_bytes, 0);
    ASSERT_EQ(roles.roles.size(), 3U);
    for (const Role& role : roles.roles) {
        const bool is_the_one = role.registers == 240;
        EXPECT_EQ(role.spills, is_the_one ? roles.spills : Traffic{}) << role.registers;
    }
    EXPECT_EQ(roles.roles[0].registers, 168);
    EXPECT_EQ(roles.roles[1].registers + roles.roles[2].registers, 240 + 24);
}

TEST_F(Kinds, APlainKernelHasNothing) {
    expect_spills(kernel("plain"), 0, 0);
    EXPECT_EQ(kernel("plain").stack_bytes, 0);
    EXPECT_TRUE(kernel("plain").spill_sites.empty());
}

// Nobody asked for line information, and the cubin has none.
TEST_F(Kinds, WithoutLineTablesEverySpillHasAnOffsetAndADepth) {
    for (const char* name : {"array_and_spills", "shared_spills", "roles"}) {
        for (const SpillSite& site : kernel(name).spill_sites) {
            EXPECT_EQ(site.ptx_line, 0);
            EXPECT_TRUE(site.source.empty());
            EXPECT_GE(site.loop_depth, 0);
            EXPECT_GE(site.role, 0);
        }
    }
}

// With every assembler of this machine what is read is what it prints itself.
TEST_F(Kinds, EveryAssemblerHereAgrees) {
    const std::vector<Assembler> assemblers = find_assemblers();
    if (assemblers.empty()) GTEST_SKIP() << "no ptxas here";
    const std::vector<Assembled> runs =
        assemble({JALI_TEST_DATA "/audit/kinds.ptx"},
                 {.assemblers = assemblers, .options = {"-O3", "-O1"}, .use_cache = false, .progress = {}});
    ASSERT_EQ(runs.size(), 2 * assemblers.size());
    int64_t compared = 0;
    for (const Assembled& run : runs) {
        if (!run.succeeded) continue;  // PTX 9.0 has what older ones do not take
        for (const Kernel& kernel : run.kernels) {
            const auto reported = std::ranges::find(run.reported, kernel.name, &ReportedKernel::name);
            ASSERT_NE(reported, run.reported.end()) << kernel.name;
            EXPECT_EQ(kernel.registers, reported->registers) << run.assembler << kernel.name;
            EXPECT_EQ(kernel.stack_bytes, reported->stack_bytes) << run.assembler << kernel.name;
            ++compared;
            if (kernel.spill_source != SpillSource::kAnnotations) continue;
            EXPECT_EQ(kernel.spills.store_bytes, reported->spill_store_bytes) << run.assembler << kernel.name;
            EXPECT_EQ(kernel.spills.load_bytes, reported->spill_load_bytes) << run.assembler << kernel.name;
            for (const SpillSite& site : kernel.spill_sites) EXPECT_GT(site.ptx_line, 0) << kernel.name;
        }
    }
    EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace jali::audit

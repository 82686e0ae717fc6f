// jali audit, on kernels that are in the tree; what assembles needs a ptxas and is skipped without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "cli/run_command.h"
#include "io/temporary_folder.h"

namespace jali::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kKinds = std::string(JALI_TEST_DATA) + "/audit/kinds.sm_90a.cubin";
const std::string kSpilling80 = std::string(JALI_TEST_DATA) + "/audit/spilling.sm_80.cubin";
const std::string kSpilling90 = std::string(JALI_TEST_DATA) + "/audit/spilling.sm_90.cubin";
const std::string kPtx = std::string(JALI_TEST_DATA) + "/audit/kinds.ptx";

std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

class AuditCommand : public testing::Test {
   protected:
    void SetUp() override {
        if (run_jali({"--help"}).out.find("\n  toolchain ") == std::string::npos) {
            GTEST_SKIP() << "this build has no audit library";
        }
    }
    bool has_assembler() const { return !json_of(run_jali({"toolchain", "list", "--json"}))["assemblers"].empty(); }
    Ran audit(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "audit");
        return run_jali(arguments, folder_.path());
    }

    TemporaryFolder folder_;
};

TEST_F(AuditCommand, PrintsALineAKernel) {
    const Ran ran = audit({kKinds});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("1,304/1,360"));
    EXPECT_THAT(ran.out, HasSubstr("5 kernels by ptxas 13.0.88; 3 of them spill, 2,232/2,352 B of stores/loads"));
}

TEST_F(AuditCommand, JsonHasWhatIsPromised) {
    const nlohmann::json json = json_of(audit({kSpilling90, "--json"}));
    ASSERT_EQ(json["kernels"].size(), 1U);
    const nlohmann::json& kernel = json["kernels"][0];
    EXPECT_EQ(kernel["name"], "spilling");
    EXPECT_EQ(kernel["arch"], "sm_90");
    EXPECT_EQ(kernel["registers"], 32);
    EXPECT_EQ(kernel["stack_bytes"], 264);
    EXPECT_EQ(kernel["instructions"], 466);
    EXPECT_EQ(kernel["code_sha256"].get<std::string>().size(), 64U);
    const nlohmann::json spills = {
        {"store_bytes", 424}, {"load_bytes", 472}, {"stores", 104}, {"loads", 116}, {"source", "annotations"}};
    EXPECT_EQ(kernel["spills"], spills);
    EXPECT_TRUE(json["problems"].empty());
}

TEST_F(AuditCommand, FiltersByNameAndArchitecture) {
    EXPECT_THAT(audit({kKinds, "--kernel", "roles"}).out, AllOf(HasSubstr("roles"), Not(HasSubstr("plain"))));
    EXPECT_THAT(audit({kSpilling80, kSpilling90, "--arch", "sm_80"}).out, HasSubstr("1 kernel by"));
}

TEST_F(AuditCommand, ShowsLinesAndDetails) {
    const Ran ran = audit({kSpilling90, "--lines", "--details", "--device", "H200", "--source-root",
                           std::string(JALI_TEST_DATA) + "/audit"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("spilling.cu:16: 144/232 B in 93 instructions, loop depth 1"));
    EXPECT_THAT(ran.out, HasSubstr("c[i] = fmaf(c[i], value, in[i])"));
    EXPECT_THAT(ran.out, HasSubstr("64/64 registers"));
    EXPECT_THAT(ran.out, HasSubstr("local arrays 0, spill slots 264"));
}

TEST_F(AuditCommand, WritesReports) {
    const Ran ran = audit({kKinds, "--html", "page.html", "--junit", "tests.xml"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(content_of(folder_ / "page.html"), HasSubstr("shared_spills"));
    EXPECT_THAT(content_of(folder_ / "tests.xml"), HasSubstr("<testsuite"));
}

TEST_F(AuditCommand, SaysWhereThereIsNothing) {
    const Ran none = audit({kKinds, "--kernel", "nothing"});
    EXPECT_EQ(none.exit_code, 0);
    EXPECT_EQ(none.out, "no kernels\n");
    const Ran device = audit({"/dev/zero"});
    EXPECT_EQ(device.exit_code, 2);
    EXPECT_EQ(device.err, "jali: cannot read '/dev/zero': it is a device\n");
    std::ofstream(folder_ / "notes.ptx") << "hello\n";
    const Ran text = audit({"notes.ptx"});
    EXPECT_EQ(text.exit_code, has_assembler() ? 1 : 2);
    EXPECT_THAT(text.err, HasSubstr(has_assembler() ? "the PTX names no .target; say an architecture" : "ptxas"));
}

TEST_F(AuditCommand, APartialFailureIsAPartialReport) {
    std::ofstream(folder_ / "cut.cubin", std::ios::binary) << content_of(kKinds).substr(0, 5000);
    const Ran ran = audit({kSpilling90, "cut.cubin"});
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.out, HasSubstr("spilling"));
    EXPECT_THAT(ran.err, HasSubstr("jali: cut.cubin: "));
}

TEST_F(AuditCommand, RefusesWhatMakesNoSense) {
    const auto refusal = [&](const std::vector<std::string>& arguments) {
        const Ran ran = audit(arguments);
        EXPECT_EQ(ran.exit_code, 2) << ran.err;
        EXPECT_EQ(ran.out, "");
        return ran.err;
    };
    EXPECT_EQ(refusal({}), "jali: name at least one PATH (jali audit --help shows examples)\n");
    EXPECT_EQ(refusal({"none.so"}), "jali: there is no 'none.so'\n");
    EXPECT_THAT(refusal({kKinds, "--device", "H900"}), HasSubstr("--device is 'H900' but must be one of A100, A10,"));
    EXPECT_EQ(refusal({kKinds, "--source-root", "."}), "jali: --source-root has no effect without --lines or --html\n");
    EXPECT_EQ(refusal({kKinds, "--route", "x"}),
              "jali: --route is 'x' but must be ptxas or nvlink (ptxas -c, then nvlink)\n");
    EXPECT_EQ(refusal({kKinds, "--lines", "--json"}),
              "jali: --json has all details and lines: leave --details and --lines out\n");
    EXPECT_EQ(refusal({"diff", kKinds}),
              "jali: diff takes two PATHs, or one and two toolchains (--ptxas A --ptxas B), not 1 PATH\n");
    EXPECT_EQ(refusal({"check", kKinds}), "jali: --budget FILE is needed; --update makes one where there is none\n");
    EXPECT_THAT(refusal({"check", kKinds, "--budget", "none.toml"}), HasSubstr("none.toml"));
    EXPECT_EQ(refusal({"unpack", kKinds}), "jali: --out FOLDER is needed\n");
}

TEST_F(AuditCommand, DiffSaysWhatGotWorse) {
    const Ran better = audit({"diff", kSpilling80, kSpilling90, "--explain"});
    EXPECT_EQ(better.exit_code, 0) << better.err;
    EXPECT_THAT(better.out, HasSubstr("0 worse, 0 different, 1 better, 0 added, 0 removed, 0 same"));
    const Ran worse = audit({"diff", kSpilling90, kSpilling80});
    EXPECT_EQ(worse.exit_code, 1);
    EXPECT_THAT(worse.out, HasSubstr("worse        +"));
    const Ran same = audit({"diff", kKinds, kKinds});
    EXPECT_EQ(same.exit_code, 0);
    EXPECT_THAT(same.out, HasSubstr("0 removed, 5 same"));
    EXPECT_FALSE(json_of(audit({"diff", kKinds, kKinds, "--json"}))["worse"].get<bool>());
}

TEST_F(AuditCommand, CheckHoldsKernelsToABudget) {
    std::ofstream(folder_ / "audit.toml") << "[[rule]]\nkernel = \"*spills\"\nspill_bytes = 100\n";
    const Ran over = audit({"check", kKinds, "--budget", "audit.toml", "--junit", "tests.xml"});
    EXPECT_EQ(over.exit_code, 1);
    EXPECT_THAT(over.out, HasSubstr("FAILED shared_spills (sm_90a, ptxas 13.0.88): spill_bytes is 884 and rule"));
    EXPECT_THAT(over.out, HasSubstr("not covered: plain (sm_90a, ptxas 13.0.88): no rule speaks of it"));
    EXPECT_THAT(content_of(folder_ / "tests.xml"), HasSubstr("failures=\"2\""));
    std::ofstream(folder_ / "audit.toml") << "[[rule]]\nkernel = \"*\"\nspill_bytes = 3000\n";
    EXPECT_EQ(audit({"check", kKinds, "--budget", "audit.toml"}).exit_code, 0);
}

TEST_F(AuditCommand, TheRatchetOnlyTightensUnlessTold) {
    EXPECT_EQ(audit({"check", kSpilling90, "--budget", "r.toml", "--update"}).exit_code, 0);
    const std::string first = content_of(folder_ / "r.toml");
    EXPECT_THAT(first, HasSubstr("spill_bytes = 896"));
    // Half of the spills were allowed: the update remembers no more than that.
    std::string tighter = first;
    tighter.replace(tighter.find("spill_bytes = 896"), 17, "spill_bytes = 400");
    std::ofstream(folder_ / "r.toml") << tighter;
    const Ran over = audit({"check", kSpilling90, "--budget", "r.toml", "--update"});
    EXPECT_EQ(over.exit_code, 1);
    EXPECT_THAT(content_of(folder_ / "r.toml"), HasSubstr("spill_bytes = 400"));
    EXPECT_EQ(audit({"check", kSpilling90, "--budget", "r.toml", "--update", "--loosen"}).exit_code, 0);
    EXPECT_EQ(content_of(folder_ / "r.toml"), first);
}

TEST_F(AuditCommand, UnpackWritesImages) {
    const Ran ran = audit({"unpack", std::string(JALI_TEST_DATA) + "/audit", "--out", "images", "--cubins"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.out, "wrote 4 files to images\n");
    const Ran again = audit({"images"});
    EXPECT_THAT(again.out, HasSubstr("array_and_spills"));
}

TEST_F(AuditCommand, AssemblesPtxByOptions) {
    if (!has_assembler()) GTEST_SKIP() << "no ptxas here";
    const Ran ran =
        run_shell("JALI_CACHE=cache jali audit " + kPtx + " --options '-O3|-O1' --kernel roles", folder_.path());
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("Spill bytes (stores/loads)"), HasSubstr("-O3"), HasSubstr("-O1")));
    const Ran diff = run_shell("JALI_CACHE=cache jali audit diff --options=-O3 --options=-O1 " + kPtx, folder_.path());
    EXPECT_THAT(diff.out, HasSubstr("-O3 -> -O1\n"));
}

TEST_F(AuditCommand, AnAssemblerThatIsNotThereFailsAlone) {
    if (!has_assembler()) GTEST_SKIP() << "no ptxas here";
    const std::string newest = json_of(run_jali({"toolchain", "list", "--json"}))["assemblers"][0]["version"];
    const Ran ran =
        run_shell("JALI_CACHE=\"$PWD/cache\" jali audit " + kPtx + " --ptxas 1.2.3," + newest, folder_.path());
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.out, HasSubstr("failed"));
    EXPECT_THAT(ran.err, HasSubstr("1.2.3"));
}

}  // namespace
}  // namespace jali::test

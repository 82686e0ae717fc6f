// jali toolchain, with a pip and assemblers that are scripts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_command.h"
#include "io/temporary_folder.h"

namespace jali::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class ToolchainCommand : public testing::Test {
   protected:
    void SetUp() override {
        if (run_jali({"--help"}).out.find("\n  toolchain ") == std::string::npos) {
            GTEST_SKIP() << "this build has no audit library";
        }
        write_ptxas("found", "99.1.7");
    }
    void write_ptxas(const std::string& folder, const std::string& version) {
        write_program(folder + "/ptxas",
                      "case \"$*\" in\n"
                      "*--version*) echo 'Cuda compilation tools, release x, V" +
                          version +
                          "';;\n"
                          "*) echo \"fatal : Unsupported .version 99.9; current version is '9.9'\"; exit 255;;\n"
                          "esac");
    }
    void write_program(const std::string& name, const std::string& body) {
        fs::create_directories((folder_ / name).parent_path());
        write_text(folder_ / name, "#!/bin/sh\n" + body + "\n");
        fs::permissions(folder_ / name, fs::perms::owner_all);
    }
    // With nothing of this machine but what every one has.
    Ran toolchain(const std::string& arguments) {
        return run_shell(
            "export JALI_CACHE=\"$PWD/cache\" JALI_PTXAS=\"$PWD/found\" PATH=\"$PWD/programs:$PATH\"; "
            "unset CUDA_HOME CUDA_PATH; jali toolchain " +
                arguments,
            folder_.path());
    }

    TemporaryFolder folder_;
};

TEST_F(ToolchainCommand, ListsWhatThereIs) {
    const Ran ran = toolchain("list");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("99.1.7    9.9         no      found    "));
    const nlohmann::json json = json_of(toolchain("list --json"));
    EXPECT_EQ(json["cache"].get<std::string>(), (fs::canonical(folder_.path()) / "cache").string());
    const auto& first = json["assemblers"][0];
    EXPECT_EQ(first["version"], "99.1.7");
    EXPECT_EQ(first["ptx_version"], "9.9");
    EXPECT_EQ(first["installed_by_jali"], false);
    EXPECT_EQ(first["sha256"].get<std::string>().size(), 64u);
}

TEST_F(ToolchainCommand, SaysWhereOneIs) {
    const Ran ran = toolchain("path 99.1");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.out, (fs::canonical(folder_.path()) / "found" / "ptxas").string() + "\n");
    const Ran none = toolchain("path 98");
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_THAT(none.err, HasSubstr("there is no ptxas 98 here"));
    EXPECT_THAT(none.err, HasSubstr("`jali toolchain install 98` fetches one"));
}

TEST_F(ToolchainCommand, InstallsWhatItCanAndFailsForTheRest) {
    write_program("programs/python3", "echo 'ERROR: Could not connect'; exit 1");
    const Ran ran = toolchain("install 98 97.1");
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err,
              "jali: pip could not fetch nvidia-cuda-nvcc 98: Could not connect\n"
              "jali: pip could not fetch nvidia-cuda-nvcc 97.1: Could not connect\n");
}

TEST_F(ToolchainCommand, SaysWhatWasAltered) {
    write_ptxas("cache/toolchains/99.4.1", "99.4.1");  // with no record of how it came there
    const Ran ran = toolchain("list");
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.out, HasSubstr("99.4.1    -           no      ALTERED"));
    EXPECT_THAT(ran.err, HasSubstr("remove it and install it again"));
    EXPECT_EQ(toolchain("remove 99.4").out, "removed ptxas 99.4.1\n");
    EXPECT_EQ(toolchain("list").exit_code, 0);
}

TEST_F(ToolchainCommand, RemovesNothingOfOthers) {
    const Ran ran = toolchain("remove 99.1.7");
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, HasSubstr("no ptxas 99.1.7 was installed by jali"));
    EXPECT_TRUE(fs::exists(folder_ / "found/ptxas"));
}

TEST_F(ToolchainCommand, ForgetsResults) {
    EXPECT_EQ(toolchain("clear-cache").out, "removed 0 results, 0 B\n");
}

TEST_F(ToolchainCommand, TeachesItself) {
    const Ran ran = run_jali({"toolchain", "--help"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.out, HasSubstr("Usage: jali toolchain "));
    EXPECT_THAT(ran.out, HasSubstr("Examples:\n  jali toolchain "));
    EXPECT_EQ(run_jali({"toolchain"}).exit_code, 2);
}

}  // namespace
}  // namespace jali::test

// Which assemblers are found, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ranges>

#include "audit/assembler/fake_tools.h"
#include "audit/assembler/toolchain_probe.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::string> versions_below(const fs::path& folder) {
    std::vector<std::string> versions;
    for (const Assembler& assembler : assemblers_below(folder)) versions.push_back(assembler.version);
    return versions;
}

class Toolchain : public testing::Test {
   protected:
    Isolated isolated_;
};

TEST_F(Toolchain, IsAskedWhatItIs) {
    write_fake_ptxas(isolated_ / "a", "99.1.7", "9.9", "");
    const Assembler without = fake_assembler(isolated_ / "a");
    EXPECT_EQ(without.version, "99.1.7");
    EXPECT_EQ(without.ptx_version, "9.9");
    EXPECT_EQ(without.ptxas, isolated_ / "a" / "ptxas");
    EXPECT_TRUE(without.nvlink.empty());
    EXPECT_EQ(without.sha256.size(), 64u);
    EXPECT_FALSE(without.installed_by_us);
    write_script(isolated_ / "a" / "nvlink", "exit 0");
    const Assembler with = fake_assembler(isolated_ / "a");
    EXPECT_EQ(with.nvlink, isolated_ / "a" / "nvlink");
    EXPECT_NE(with.sha256, without.sha256);
}

TEST_F(Toolchain, IsAskedOnceAndAgainWhenItChanges) {
    const fs::path asked = isolated_ / "asked";
    const std::string count = "echo x >> '" + asked.string() + "'\n";
    write_script(isolated_ / "ptxas", count + "echo 'release 99.1, V99.1.7'");
    ASSERT_TRUE(probe(isolated_ / "ptxas").has_value());
    const std::string once = test::read_text(asked);
    EXPECT_EQ(probe(isolated_ / "ptxas")->version, "99.1.7");
    EXPECT_EQ(test::read_text(asked), once);
    write_script(isolated_ / "ptxas", count + "echo 'release 99.2, V99.2.71'");
    EXPECT_EQ(probe(isolated_ / "ptxas")->version, "99.2.71");
}

TEST_F(Toolchain, ThatDoesNotRunAsOneIsNone) {
    EXPECT_FALSE(probe(isolated_ / "nothing").has_value());
    EXPECT_FALSE(probe(isolated_.path()).has_value());
    test::write_text(isolated_ / "plain", "no program");
    EXPECT_FALSE(probe(isolated_ / "plain").has_value());
    write_script(isolated_ / "other", "echo 'some other tool 1.0'");
    EXPECT_FALSE(probe(isolated_ / "other").has_value());
    write_script(isolated_ / "failing", "echo 'release 99.1, V99.1.7'; exit 1");
    EXPECT_FALSE(probe(isolated_ / "failing").has_value());
    EXPECT_THAT(test::message_of<Error>([&] { find_assembler((isolated_ / "other").string()); }),
                HasSubstr("is no ptxas that runs here"));
}

TEST_F(Toolchain, IsFoundInEveryPlaceNewestFirst) {
    write_fake_ptxas(isolated_ / "listed", "99.2.1", "9.9", "");
    write_fake_ptxas(isolated_ / "tree" / "bin", "99.10.1", "9.9", "");
    write_fake_ptxas(isolated_ / "home" / "bin", "99.3.1", "9.9", "");
    write_fake_ptxas(isolated_ / "other" / "bin", "99.4.1", "9.9", "");
    write_fake_ptxas(isolated_.programs(), "99.1.1", "9.9", "");
    const ScopedVariable listed("JALI_PTXAS",
                                (isolated_ / "listed/ptxas").string() + ":" + (isolated_ / "tree").string() + "::/no");
    const ScopedVariable home("CUDA_HOME", (isolated_ / "home").string());
    const ScopedVariable other("CUDA_PATH", (isolated_ / "other").string());
    EXPECT_THAT(versions_below(isolated_.path()), ElementsAre("99.10.1", "99.4.1", "99.3.1", "99.2.1", "99.1.1"));
}

TEST_F(Toolchain, OfOneVersionCountsWhereItIsFoundFirst) {
    write_fake_ptxas(isolated_ / "first", "99.1.7", "9.9", "");
    write_fake_ptxas(isolated_.programs(), "99.1.7", "9.9", "");
    const ScopedVariable listed("JALI_PTXAS", (isolated_ / "first").string());
    ASSERT_THAT(versions_below(isolated_.path()), ElementsAre("99.1.7"));
    EXPECT_EQ(find_assembler("99.1.7").ptxas, fs::canonical(isolated_ / "first/ptxas"));
}

TEST_F(Toolchain, IsMeantByTheBeginningOfItsVersion) {
    write_fake_ptxas(isolated_ / "a", "99.1.7", "9.9", "");
    write_fake_ptxas(isolated_ / "b", "99.10.2", "9.9", "");
    const ScopedVariable listed("JALI_PTXAS", (isolated_ / "a").string() + ":" + (isolated_ / "b").string());
    EXPECT_EQ(find_assembler("99").version, "99.10.2");
    EXPECT_EQ(find_assembler("99.1").version, "99.1.7");
    const std::string message = test::message_of<Error>([] { find_assembler("98"); });
    EXPECT_THAT(message, HasSubstr("there is no ptxas 98 here (but 99.10.2, 99.1.7"));
    EXPECT_THAT(message, HasSubstr("`jali toolchain install 98` fetches one"));
}

}  // namespace
}  // namespace jali::audit

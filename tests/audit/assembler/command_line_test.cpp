#include "audit/assembler/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AssemblerOptions, AreSplitAsAShellDoes) {
    EXPECT_THAT(split_options("-O3  --maxrregcount 64"), ElementsAre("-O3", "--maxrregcount", "64"));
    EXPECT_THAT(split_options(R"("a b" c\ d 'e "f"' g"h i"j "")"), ElementsAre("a b", "c d", "e \"f\"", "gh ij", ""));
    EXPECT_THAT(split_options(""), ElementsAre());
    EXPECT_THAT(split_options("$HOME `date` ;"), ElementsAre("$HOME", "`date`", ";"));
    EXPECT_THAT(test::message_of<Error>([] { split_options("-O3 'x"); }), HasSubstr("open a ' and do not close it"));
}

TEST(AssemblerOptions, ThatAreNotTheCallersAreRefused) {
    for (const char* option : {"-o x", "--output-file=x", "-arch=sm_90", "--gpu-name sm_90", "-c", "--query-controls x",
                               "--help", "--input-as-string x"}) {
        const std::string message = test::message_of<Error>([&] { split_options(std::string("-O3 ") + option); });
        EXPECT_THAT(message, HasSubstr("which is not for them")) << option;
    }
    EXPECT_THAT(split_options("-compress-all"), ElementsAre("-compress-all"));  // begins with -c and is another
}

TEST(AssemblerOptions, NameFilesFromWhereTheCallerStands) {
    const std::string here = std::filesystem::current_path().string();
    EXPECT_THAT(split_options("--apply-controls a.acf"), ElementsAre("--apply-controls", here + "/a.acf"));
    EXPECT_THAT(split_options("--apply-controls=a.acf"), ElementsAre("--apply-controls=" + here + "/a.acf"));
    EXPECT_THAT(files_of_options({"-O3", "--apply-controls", "/a", "-optf=/b"}), ElementsAre("/a", "/b"));
    EXPECT_THAT(files_of_options({"--apply-controls"}), ElementsAre());
}

Variant variant(Route route) {
    Variant variant;
    variant.assembler.ptxas = "/t/ptxas";
    variant.assembler.nvlink = "/t/nvlink";
    variant.options = {"-O2"};
    variant.arch = "sm_90a";
    variant.route = route;
    return variant;
}

TEST(AssemblerCommands, OfTheDirectRouteAreOne) {
    EXPECT_THAT(commands(variant(Route::kDirect)),
                ElementsAre(ElementsAre("/t/ptxas", "-arch=sm_90a", "-v", "-lineinfo", "-O2", "kernel.ptx", "-o",
                                        "kernel.cubin")));
}

TEST(AssemblerCommands, OfTheLinkedRouteAreTwo) {
    EXPECT_THAT(commands(variant(Route::kLinked)),
                ElementsAre(ElementsAre("/t/ptxas", "-arch=sm_90a", "-v", "-c", "-lineinfo", "-O2", "kernel.ptx", "-o",
                                        "kernel.o"),
                            ElementsAre("/t/nvlink", "-arch=sm_90a", "kernel.o", "-o", "kernel.cubin")));
}

TEST(AssemblerCommands, AskForLineTablesOnce) {
    for (const char* own : {"-lineinfo", "--generate-line-info", "-g"}) {
        Variant with_own = variant(Route::kDirect);
        with_own.options = {own};
        EXPECT_THAT(commands(with_own)[0],
                    ElementsAre("/t/ptxas", "-arch=sm_90a", "-v", own, "kernel.ptx", "-o", "kernel.cubin"));
    }
    Variant without = variant(Route::kDirect);
    without.line_tables = false;
    EXPECT_THAT(commands(without)[0], testing::Not(testing::Contains("-lineinfo")));
}

}  // namespace
}  // namespace jali::audit

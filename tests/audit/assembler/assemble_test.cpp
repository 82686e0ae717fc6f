// The whole of assemble(): with scripts for assemblers, and with a real one where there is one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/assembler/fake_tools.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kData = fs::path(JALI_TEST_DATA) / "audit";

// Writes a real cubin, whatever the PTX says.
std::string copying() {
    return "cp '" + (kData / "add_one.sm_90.cubin").string() + "' \"$output\"\n" +
           "echo \"ptxas info    : Compiling entry function 'add_one' for 'sm_90'\"\n"
           "echo 'ptxas info    : Used 8 registers'";
}

class Assemble : public testing::Test {
   protected:
    Assemble() { write_fake_ptxas(isolated_ / "good", "99.1.7", "8.4", copying()); }

    AssembleOptions with(const std::vector<std::string>& folders) const {
        AssembleOptions options;
        for (const std::string& folder : folders) options.assemblers.push_back(fake_assembler(isolated_ / folder));
        return options;
    }
    fs::path ptx(const std::string& name, const std::string& version = "7.8", const std::string& target = "sm_90") {
        const fs::path path = isolated_ / name;
        fs::create_directories(path.parent_path());
        test::write_text(path, ".version " + version + "\n.target " + target + "\n// " + name + "\n");
        return path;
    }

    Isolated isolated_;
};

TEST_F(Assemble, GivesARowForEveryCombinationInOrder) {
    write_fake_ptxas(isolated_ / "other", "99.2.1", "8.4", copying());
    AssembleOptions options = with({"good", "other"});
    options.options = {"-O3", "-O1"};
    options.archs = {"sm_90", "sm_90a"};
    std::vector<std::string> found;
    for (const Assembled& row : assemble({ptx("a.ptx"), ptx("b.ptx")}, options)) {
        EXPECT_TRUE(row.succeeded) << row.message;
        found.push_back(fs::path(row.ptx).filename().string() + " " + row.assembler + " " + row.options + " " +
                        row.arch);
    }
    EXPECT_THAT(found, ElementsAre("a.ptx 99.1.7 -O3 sm_90", "a.ptx 99.1.7 -O3 sm_90a", "a.ptx 99.1.7 -O1 sm_90",
                                   "a.ptx 99.1.7 -O1 sm_90a", "a.ptx 99.2.1 -O3 sm_90", "a.ptx 99.2.1 -O3 sm_90a",
                                   "a.ptx 99.2.1 -O1 sm_90", "a.ptx 99.2.1 -O1 sm_90a", "b.ptx 99.1.7 -O3 sm_90",
                                   "b.ptx 99.1.7 -O3 sm_90a", "b.ptx 99.1.7 -O1 sm_90", "b.ptx 99.1.7 -O1 sm_90a",
                                   "b.ptx 99.2.1 -O3 sm_90", "b.ptx 99.2.1 -O3 sm_90a", "b.ptx 99.2.1 -O1 sm_90",
                                   "b.ptx 99.2.1 -O1 sm_90a"));
}

TEST_F(Assemble, ReadsTheKernelsAndTheLog) {
    const std::vector<Assembled> rows = assemble({ptx("a.ptx")}, with({"good"}));
    ASSERT_EQ(rows.size(), 1u);
    std::vector<std::string> names;
    for (const Kernel& kernel : rows[0].kernels) {
        names.push_back(kernel.name);
        EXPECT_EQ(kernel.origin, (isolated_ / "a.ptx").string());
    }
    EXPECT_THAT(names, testing::UnorderedElementsAre("add_one", "store_zero"));
    ASSERT_EQ(rows[0].reported.size(), 1u);
    EXPECT_EQ(rows[0].reported[0].registers, 8);
    EXPECT_EQ(rows[0].arch, "sm_90");
    EXPECT_GT(rows[0].milliseconds, 0);
}

TEST_F(Assemble, RunsAnAssemblerOnceForEqualWork) {
    const fs::path file = ptx("a.ptx");
    EXPECT_FALSE(assemble({file}, with({"good"}))[0].from_cache);
    const std::vector<Assembled> again = assemble({file}, with({"good"}));
    EXPECT_TRUE(again[0].from_cache);
    EXPECT_TRUE(again[0].succeeded);
    EXPECT_EQ(again[0].kernels.size(), 2u);
    EXPECT_EQ(again[0].reported.size(), 1u);
    EXPECT_EQ(calls_of(isolated_ / "good"), 1);
    // The content counts, not the name.
    fs::copy_file(file, isolated_ / "copy.ptx");
    EXPECT_TRUE(assemble({isolated_ / "copy.ptx"}, with({"good"}))[0].from_cache);
    AssembleOptions uncached = with({"good"});
    uncached.use_cache = false;
    EXPECT_FALSE(assemble({file}, uncached)[0].from_cache);
    EXPECT_EQ(calls_of(isolated_ / "good"), 2);
    clear_assembly_cache();
    EXPECT_FALSE(assemble({file}, with({"good"}))[0].from_cache);
}

TEST_F(Assemble, DoesNotRememberFailures) {
    const fs::path file = ptx("a.ptx");
    write_fake_ptxas(isolated_ / "bad", "99.3.1", "8.4",
                     "if [ -e '" + (isolated_ / "cured").string() + "' ]; then " + copying() + "; else exit 1; fi");
    EXPECT_FALSE(assemble({file}, with({"bad"}))[0].succeeded);
    test::write_text(isolated_ / "cured", "");
    EXPECT_TRUE(assemble({file}, with({"bad"}))[0].succeeded);
}

TEST_F(Assemble, ReportsTheOthersWhereOneFails) {
    write_fake_ptxas(isolated_ / "bad", "99.3.1", "8.4", "echo 'ptxas fatal   : no' >&2; exit 255");
    write_fake_ptxas(isolated_ / "hanging", "99.4.1", "8.4", "sleep 1000");
    write_fake_ptxas(isolated_ / "nonsense", "99.5.1", "8.4", "echo no cubin > \"$output\"");
    AssembleOptions options = with({"bad", "hanging", "good", "nonsense"});
    options.assemblers.push_back({});
    options.assemblers.back().version = "98.7";
    options.timeout_seconds = 1;
    const std::vector<Assembled> rows = assemble({ptx("a.ptx")}, options);
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows[0].message, "ptxas fatal   : no");
    EXPECT_EQ(rows[1].message, "ptxas was stopped after 1 seconds");
    EXPECT_TRUE(rows[2].succeeded) << rows[2].message;
    EXPECT_FALSE(rows[3].succeeded);
    EXPECT_NE(rows[3].message, "");
    EXPECT_THAT(rows[4].message, HasSubstr("there is no ptxas 98.7 here"));
    EXPECT_EQ(rows[4].assembler, "98.7");
}

TEST_F(Assemble, LowersTheVersionAndSaysSo) {
    const std::vector<Assembled> rows = assemble({ptx("new.ptx", "9.4"), ptx("old.ptx", "8.4")}, with({"good"}));
    EXPECT_EQ(rows[0].lowered_from, "9.4");
    EXPECT_TRUE(rows[0].succeeded);
    EXPECT_EQ(rows[1].lowered_from, "");
}

TEST_F(Assemble, ReplacesTheTargetWhereItMustAndSaysSo) {
    AssembleOptions options = with({"good"});
    options.archs = {"sm_100a"};
    const std::vector<Assembled> rows =
        assemble({ptx("a.ptx", "7.8", "sm_90a"), ptx("b.ptx", "7.8", "sm_90")}, options);
    EXPECT_EQ(rows[0].retargeted_from, "sm_90a");
    EXPECT_EQ(rows[0].arch, "sm_100a");
    EXPECT_EQ(rows[1].retargeted_from, "");
    EXPECT_THAT(test::read_text(isolated_ / "good" / "calls"), HasSubstr("-arch=sm_100a"));
}

TEST_F(Assemble, FindsPtxInFoldersByName) {
    ptx("folder/b.ptx");
    ptx("folder/a.ptx");
    ptx("folder/deeper/c.ptx");
    test::write_text(isolated_ / "folder" / "readme.txt", "no PTX");
    std::vector<std::string> names;
    for (const Assembled& row : assemble({isolated_ / "folder"}, with({"good"}))) {
        names.push_back(fs::path(row.ptx).filename());
    }
    EXPECT_THAT(names, ElementsAre("a.ptx", "b.ptx", "c.ptx"));
}

TEST_F(Assemble, FindsPtxInsideWheels) {
    const std::string text = test::read_text(ptx("a.ptx"));
    write_wheel(isolated_ / "some.whl", {{"package/readme.txt", "no PTX"}, {"package/a.ptx", text}});
    const std::vector<Assembled> rows = assemble({isolated_ / "some.whl"}, with({"good"}));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_TRUE(rows[0].succeeded) << rows[0].message;
    EXPECT_THAT(rows[0].ptx, HasSubstr("some.whl!package/a.ptx"));
}

TEST_F(Assemble, ReportsWhatItCouldNotReadAndTheRest) {
    const fs::path good = ptx("a.ptx");
    const std::string text = test::read_text(good);
    write_wheel(isolated_ / "damaged.whl", {{"package/a.ptx", text}});
    std::string bytes = test::read_text(isolated_ / "damaged.whl");
    bytes[bytes.find("// a.ptx") + 3] ^= 1;  // no longer what its checksum says
    test::write_text(isolated_ / "damaged.whl", bytes);
    const std::vector<Assembled> rows = assemble({isolated_ / "damaged.whl", good}, with({"good"}));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_TRUE(rows[0].succeeded) << rows[0].message;
    EXPECT_FALSE(rows[1].succeeded);
    EXPECT_EQ(rows[1].assembler, "");
    EXPECT_THAT(rows[1].ptx, HasSubstr("damaged.whl"));
    EXPECT_NE(rows[1].message, "");
}

TEST_F(Assemble, RemovesThePaddingOfDumps) {
    const fs::path file = ptx("a.ptx");
    const std::string text = test::read_text(file);
    test::write_text(isolated_ / "padded.ptx", text + std::string(3, '\0'));
    assemble({file}, with({"good"}));
    EXPECT_TRUE(assemble({isolated_ / "padded.ptx"}, with({"good"}))[0].from_cache);
}

TEST_F(Assemble, RefusesBeforeItStarts) {
    const fs::path file = ptx("a.ptx");
    AssembleOptions options = with({"good"});
    options.options = {"-O3", "-o elsewhere"};
    EXPECT_THROW(assemble({file}, options), Error);
    EXPECT_EQ(calls_of(isolated_ / "good"), 0);
    EXPECT_THROW(assemble({isolated_ / "missing.ptx"}, with({"good"})), FileError);
    fs::create_directory(isolated_ / "empty");
    EXPECT_THAT(test::message_of<Error>([&] { assemble({isolated_ / "empty"}, with({"good"})); }),
                HasSubstr("there is no PTX in"));
}

TEST_F(Assemble, LinksWithItsOwnNvlinkOrANewerOne) {
    const std::string linking = "for output; do :; done; cp kernel.o \"$output\"";
    write_script(isolated_ / "linking" / "nvlink", linking);
    write_fake_ptxas(isolated_ / "linking", "99.9.1", "8.4", copying());
    const ScopedVariable listed("JALI_PTXAS", (isolated_ / "linking").string());
    AssembleOptions options = with({"good", "linking"});
    options.routes = {Route::kDirect, Route::kLinked};
    const std::vector<Assembled> rows = assemble({ptx("a.ptx")}, options);
    ASSERT_EQ(rows.size(), 4u);
    for (const Assembled& row : rows) EXPECT_TRUE(row.succeeded) << row.message;
    EXPECT_EQ(rows[1].route, Route::kLinked);
    EXPECT_THAT(rows[1].warnings, ElementsAre("linked by nvlink 99.9.1: there is none beside ptxas 99.1.7"));
    EXPECT_THAT(rows[3].warnings, ElementsAre());
}

TEST_F(Assemble, StopsWhereTheCallerThrows) {
    AssembleOptions options = with({"good"});
    options.threads = 1;
    options.progress = [](int64_t done, int64_t all) {
        EXPECT_EQ(all, 3);
        if (done == 2) throw Error("enough");
    };
    EXPECT_EQ(test::message_of<Error>([&] {
                  assemble({ptx("a.ptx"), ptx("b.ptx"), ptx("c.ptx")}, options);
              }),
              "enough");
    EXPECT_EQ(calls_of(isolated_ / "good"), 2);
}

TEST_F(Assemble, RunsThreadsOverTheWholeMatrix) {
    std::vector<fs::path> files;
    for (int i = 0; i < 12; ++i) files.push_back(ptx("k" + std::to_string(i) + ".ptx"));
    AssembleOptions options = with({"good"});
    options.options = {"-O3", "-O2"};
    options.threads = 8;
    int64_t last = 0;
    options.progress = [&](int64_t done, int64_t) { EXPECT_EQ(done, ++last); };
    for (const Assembled& row : assemble(files, options)) EXPECT_TRUE(row.succeeded) << row.message;
    EXPECT_EQ(last, 24);
    EXPECT_EQ(calls_of(isolated_ / "good"), 24);
}

// --- With an assembler of this machine ---

class AssembleForReal : public testing::Test {
   protected:
    void SetUp() override {
        if (find_assemblers().empty()) GTEST_SKIP() << "no ptxas in JALI_PTXAS, PATH, CUDA_HOME or /usr/local/cuda*";
    }
    test::TemporaryFolder folder_;
    ScopedVariable cache_{"JALI_CACHE", (folder_ / "cache").string()};
};

// Keeps `values` loaded numbers alive across a barrier, with registers for few of them.
std::string ptx_under_pressure(int values) {
    std::string loads, stores;
    for (int i = 0; i < values; ++i) {
        loads += fmt::format("ld.volatile.global.u32 %v{}, [%a+{}];\n", i, 4 * i);
        stores += fmt::format("st.volatile.global.u32 [%a+{}], %v{};\n", 4 * (values - 1 - i), i);
    }
    return ".version 7.8\n.target sm_80\n.address_size 64\n"
           ".visible .entry pressed(.param .u64 p)\n.maxntid 128\n.maxnreg 24\n{\n"
           ".reg .b64 %a;\n.reg .b32 %v<" +
           std::to_string(values) + ">;\nld.param.u64 %a, [p];\ncvta.to.global.u64 %a, %a;\n" + loads +
           "bar.sync 0;\n" + stores + "ret;\n}\n";
}

TEST_F(AssembleForReal, SpillsAreWhatTheAssemblerReports) {
    test::write_text(folder_ / "pressed.ptx", ptx_under_pressure(48));
    AssembleOptions options;
    options.assemblers = find_assemblers();
    options.options = {"-O3", "-O1"};
    for (const Assembled& row : assemble({folder_ / "pressed.ptx"}, options)) {
        ASSERT_TRUE(row.succeeded) << row.assembler << ": " << row.message;
        ASSERT_EQ(row.kernels.size(), 1u);
        ASSERT_EQ(row.reported.size(), 1u);
        EXPECT_GT(row.reported[0].spill_store_bytes, 0);
        EXPECT_EQ(row.kernels[0].spills.store_bytes, row.reported[0].spill_store_bytes) << row.assembler;
        EXPECT_EQ(row.kernels[0].spills.load_bytes, row.reported[0].spill_load_bytes) << row.assembler;
        EXPECT_EQ(row.kernels[0].registers, row.reported[0].registers) << row.assembler;
        EXPECT_EQ(row.kernels[0].stack_bytes, row.reported[0].stack_bytes) << row.assembler;
    }
}

TEST_F(AssembleForReal, NewerPtxIsTakenOnceItIsLowered) {
    std::string text = test::read_text(kData / "add_one.ptx");
    text.replace(text.find("7.8"), 3, "98.7");
    test::write_text(folder_ / "newer.ptx", text);
    const std::vector<Assembled> rows = assemble({folder_ / "newer.ptx"}, {});
    ASSERT_TRUE(rows[0].succeeded) << rows[0].message;
    EXPECT_EQ(rows[0].lowered_from, "98.7");
    EXPECT_EQ(rows[0].kernels.size(), 2u);
}

TEST_F(AssembleForReal, WrongPtxFailsInTheAssemblersWords) {
    test::write_text(folder_ / "wrong.ptx",
                     ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { no; }\n");
    test::write_text(folder_ / "empty.ptx", "");
    const std::vector<Assembled> rows = assemble({folder_ / "wrong.ptx", folder_ / "empty.ptx"}, {});
    EXPECT_THAT(rows[0].message, HasSubstr("ptxas kernel.ptx, line 4; error"));
    EXPECT_EQ(rows[1].message, "the PTX names no .target; say an architecture");
}

TEST_F(AssembleForReal, UnknownArchitectureFailsInTheAssemblersWords) {
    AssembleOptions options;
    options.archs = {"sm_9999"};
    EXPECT_THAT(assemble({kData / "add_one.ptx"}, options)[0].message, HasSubstr("sm_9999"));
}

TEST_F(AssembleForReal, LineTablesLeaveTheCodeAsItIs) {
    test::write_text(folder_ / "pressed.ptx", ptx_under_pressure(48));
    AssembleOptions with_tables, without;
    without.line_tables = false;
    const Assembled one = assemble({folder_ / "pressed.ptx"}, with_tables)[0];
    const Assembled other = assemble({folder_ / "pressed.ptx"}, without)[0];
    ASSERT_EQ(one.kernels.size(), 1u);
    ASSERT_EQ(other.kernels.size(), 1u);
    EXPECT_EQ(one.kernels[0].code_sha256, other.kernels[0].code_sha256);
}

}  // namespace
}  // namespace jali::audit

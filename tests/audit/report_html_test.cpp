#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <string>

#include "audit/html_style.h"
#include "audit/made_kernels.h"
#include "jali/audit_report.h"

namespace jali::audit {
namespace {

using test::made_kernel;
using testing::HasSubstr;
using testing::Not;

// The page as a tree: it is well-formed or the test fails.
class Page {
   public:
    explicit Page(const Report& report) : text(html_report(report)) {
        const pugi::xml_parse_result result = document_.load_string(text.c_str(), pugi::parse_full);
        EXPECT_TRUE(result) << result.description() << " at " << result.offset;
    }
    // The text of the first element that the XPath names.
    std::string at(const char* path) const { return document_.select_node(path).node().text().get(); }
    size_t count(const char* path) const { return document_.select_nodes(path).size(); }
    // Text of the cell of a column and of a body row, from one, of a table below a heading that contains `heading`.
    std::string cell(const std::string& heading, size_t row, const std::string& column, int table = 1) const {
        const std::string path =
            "//h2[contains(., '" + heading + "')]/following-sibling::div[" + std::to_string(table) + "]/table";
        const std::string columns = path + "/thead/tr/th[.='" + column + "']";
        EXPECT_EQ(count(columns.c_str()), 1U) << column;
        const std::string at_column = "[count(" + columns + "/preceding-sibling::th) + 1]";
        const pugi::xml_node found =
            document_.select_node((path + "/tbody/tr[" + std::to_string(row) + "]/td" + at_column).c_str()).node();
        return found.child("a") ? found.child("a").text().get() : found.text().get();
    }

    std::string text;

   private:
    pugi::xml_document document_;
};

Report report_of(std::vector<Kernel> kernels) {
    Report report;
    report.title = "jali audit k.so";
    report.audit.kernels = std::move(kernels);
    return report;
}

Assembled run_of(const std::string& assembler, const std::string& options, std::vector<Kernel> kernels) {
    Assembled run;
    run.ptx = "folder/k.ptx";
    run.assembler = assembler;
    run.options = options;
    run.arch = "sm_90a";
    run.succeeded = !kernels.empty();
    run.message = run.succeeded ? "" : "ptxas fatal: no";
    run.kernels = std::move(kernels);
    return run;
}

TEST(HtmlReport, NeedsNothingFromElsewhere) {
    const Page page(report_of({made_kernel("one")}));
    EXPECT_THAT(page.text, testing::StartsWith("<!DOCTYPE html>"));
    EXPECT_THAT(page.text, Not(HasSubstr("http")));
    EXPECT_EQ(page.count("//link | //img | //script[@src]"), 0U);
    EXPECT_EQ(page.at("//title"), "jali audit k.so");
}

// Inside of style and script markup is not escaped by browsers' rules, but is by XML's.
TEST(HtmlReport, StyleAndScriptHaveNothingToEscape) {
    const Page page(report_of({made_kernel("one")}));
    for (const char* path : {"//style", "//script"}) {
        const std::string text = page.at(path);
        EXPECT_FALSE(text.empty());
        EXPECT_EQ(text.find_first_of("<>&"), std::string::npos) << path;
    }
}

// Relative luminance and contrast of WCAG 2.1; `color` is "#rrggbb".
double luminance(const std::string& color) {
    double sum = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (size_t i = 0; i < 3; ++i) {
        const double part = std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
        sum += weights[i] * (part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

TEST(HtmlReport, TextIsLegibleOnTheHottestAndTheCoolestCells) {
    const std::string style = kPageStyle;
    size_t themes = 0;
    for (size_t at = style.find(":root"); at != std::string::npos; at = style.find(":root", at + 1), ++themes) {
        const std::string theme = style.substr(at, style.find('}', at) - at);
        const auto color = [&](const std::string& name) { return theme.substr(theme.find(name) + name.size(), 7); };
        for (const char* name : {"--hot: ", "--cool: "}) {
            const double a = luminance(color("--ink: ")), b = luminance(color(name));
            EXPECT_GE((std::max(a, b) + 0.05) / (std::min(a, b) + 0.05), 4.5) << name << color(name);
        }
    }
    EXPECT_EQ(themes, 2U);
}

TEST(HtmlReport, ShowsHostileNamesAsText) {
    const std::string name = "a\"'<script>alert(1)</script>&\x1b[31m\xff";
    Kernel kernel = made_kernel(name);
    kernel.demangled = name;
    kernel.origin = name;
    kernel.notes = {name};
    test::add_spill(kernel, {.file = "../<i>" + name, .line = 3});
    Report report = report_of({kernel});
    report.audit.problems = {{name, name}};
    const Page page(report);
    EXPECT_EQ(page.count("//script"), 1U);
    EXPECT_EQ(page.count("//i"), 0U);
    EXPECT_THAT(page.text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(page.text, HasSubstr("&lt;script&gt;alert(1)"));
    EXPECT_THAT(page.at("//ul/li[span[1]='name: ']/span[2]"), HasSubstr("<script>alert(1)"));
}

TEST(HtmlReport, HasARowAKernelWithItsFiguresTheWorstFirst) {
    Kernel spilling = made_kernel("spilling");
    test::add_spills(spilling, 3, 2);
    Kernel serialised = made_kernel("serialised");
    serialised.serialisation = Serialisation::kNoted;
    serialised.registers = 200;
    const Page page(report_of({made_kernel("calm"), spilling, serialised}));
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//tbody/tr"), 3U);
    EXPECT_EQ(page.cell("Kernels", 1, "kernel"), "serialised");
    EXPECT_EQ(page.cell("Kernels", 1, "wgmma"), "serialised (noted)");
    EXPECT_EQ(page.cell("Kernels", 1, "registers"), "200");
    EXPECT_EQ(page.cell("Kernels", 2, "kernel"), "spilling");
    EXPECT_EQ(page.cell("Kernels", 2, "registers"), "128");
    EXPECT_EQ(page.cell("Kernels", 2, "spill B"), "12/8");
    EXPECT_EQ(page.cell("Kernels", 2, "by depth B"), "120/80");
    EXPECT_EQ(page.cell("Kernels", 3, "kernel"), "calm");
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//td[contains(@class, 'heat')]"), 3U);
}

TEST(HtmlReport, SaysOnceWhatAllKernelsShare) {
    Kernel other = made_kernel("other");
    other.registers = 90;
    const Page page(report_of({made_kernel("one"), other}));
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//th[.='arch']"), 0U);
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//th[.='registers']"), 1U);
    EXPECT_THAT(page.at("//h2[.='Kernels']/following-sibling::p[1]"), HasSubstr("arch sm_90a"));
}

TEST(HtmlReport, TellsWhatWasReadWhenAndByWhat) {
    ASSERT_EQ(setenv("SOURCE_DATE_EPOCH", "86400", 1), 0);
    const Page page(report_of({made_kernel("one")}));
    ASSERT_EQ(unsetenv("SOURCE_DATE_EPOCH"), 0);
    EXPECT_THAT(page.text, HasSubstr("made.cubin (1)"));
    EXPECT_THAT(page.text, HasSubstr("ptxas 13.0.88 (1)"));
    EXPECT_THAT(page.text, HasSubstr("1970-01-02 00:00 UTC"));
    EXPECT_THAT(Page(report_of({})).text, Not(HasSubstr("1970-01")));
}

TEST(HtmlReport, TellsOfBothSidesOfAComparisonWhatTheyWereMadeBy) {
    Report report = report_of({made_kernel("k")});
    report.kind = ReportKind::kDiff;
    report.before.kernels = {made_kernel("k"), made_kernel("gone")};
    for (Kernel& kernel : report.before.kernels) {
        kernel.assembler = "ptxas 12.8.93";
        kernel.origin = "old.whl!k.cubin";
    }
    report.changes = compare(report.before, report.audit);
    const Page page(report);
    const auto fact = [&](const std::string& name) {
        return page.at(("//main/ul/li[span='" + name + ": ']/span[2]").c_str());
    };
    EXPECT_EQ(fact("before, read"), "old.whl (2)");
    EXPECT_EQ(fact("before, assembled by"), "ptxas 12.8.93 (2)");
    EXPECT_EQ(fact("after, read"), "made.cubin (1)");
    EXPECT_EQ(fact("after, assembled by"), "ptxas 13.0.88 (1)");
    EXPECT_EQ(fact("read"), "");
}

TEST(HtmlReport, TellsOfTheWorstKernelsOnlyWhereThereAreMany) {
    std::vector<Kernel> kernels;
    for (int i = 0; i < 250; ++i) kernels.push_back(made_kernel("kernel_" + std::to_string(i)));
    test::add_spills(kernels[240], 1, 1);
    const Page page(report_of(kernels));
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//tbody/tr"), 250U);
    EXPECT_EQ(page.count("//details"), 200U);
    EXPECT_THAT(page.at("//details[1]/summary/b"), "kernel_240");
    EXPECT_THAT(page.text, HasSubstr("The 200 worst of 250 kernels"));
    // Each link of the table leads somewhere.
    EXPECT_EQ(page.count("//td/a"), 200U);
    EXPECT_EQ(page.count("//a[substring(@href, 2) = //details/div/@id]"), 200U);
}

// Every number of a page is one, whatever there is to divide by.
TEST(HtmlReport, HoldsNoNumbersThatAreNone) {
    Report report = report_of({Kernel{}, Kernel{}});
    test::change_code(report.audit.kernels[0], "more");
    report.kind = ReportKind::kDiff;
    report.before.kernels = {Kernel{}, made_kernel("removed")};
    report.changes = compare(report.before, report.audit);
    report.assembled = {run_of("1", "", {Kernel{}}), run_of("2", "", {Kernel{}})};
    const Page page(report);
    for (const char* none : {"nan%", "nanrem", "inf", ">nan", "\"nan", "-nan"}) {
        EXPECT_THAT(page.text.substr(page.text.find("</style>")), Not(HasSubstr(none)));
    }
    EXPECT_THAT(page.text, HasSubstr("removed"));
}

TEST(HtmlReport, ShowsLinesOfPtxWithTheirHeat) {
    Kernel kernel = made_kernel("spilling");
    kernel.ptx_text = "1st\n2nd\n3rd <b>\n4th\n5th\n6th\n7th\n8th\n9th\n10th\n11th\n12th\n";
    test::add_spill(kernel, {.loop_depth = 2, .ptx_line = 3});
    test::add_spill(kernel, {.is_store = false, .loop_depth = 0, .ptx_line = 4});
    test::add_spill(kernel, {.ptx_line = 12});
    const Page page(report_of({kernel}));
    const std::string rows = "//table[@class='lines']/tbody/tr";
    EXPECT_EQ(page.at((rows + "[3]/td[1]").c_str()), "400");
    EXPECT_EQ(page.at((rows + "[3]/td[5]").c_str()), "3");
    EXPECT_EQ(page.at((rows + "[3]/td[@class='code heat']").c_str()), "3rd <b>");
    EXPECT_EQ(page.at((rows + "[4]/td[2]").c_str()), "0/4");
    // Lines 1 to 6, a gap, 10 to 12: each once.
    EXPECT_EQ(page.count(rows.c_str()), 10U);
    EXPECT_EQ(page.count((rows + "[@class='quiet']").c_str()), 7U);
    EXPECT_EQ(page.at((rows + "[7]/td[6]").c_str()), "...");
}

TEST(HtmlReport, ShowsPlacesWithoutLinesAsBytesOfCode) {
    Kernel kernel = made_kernel("spilling");
    test::add_spill(kernel, {.loop_depth = -1});
    const Page page(report_of({kernel}));
    EXPECT_EQ(page.at("//table[@class='lines']/tbody/tr/td[5]"), "0xc80");
    EXPECT_EQ(page.at("//table[@class='lines']/tbody/tr/td[4]"), "?");
}

TEST(HtmlReport, LaysAssemblersOutAgainstOptions) {
    Kernel bad = made_kernel("k");
    test::add_spills(bad, 4, 4);
    Report report = report_of({});
    report.assembled = {run_of("12.8.93", "-O3", {bad}), run_of("12.8.93", "-O1", {made_kernel("k")}),
                        run_of("13.0.88", "-O3", {})};
    const Page page(report);
    EXPECT_EQ(page.cell("Spill bytes", 1, "assembler"), "12.8.93");
    EXPECT_EQ(page.cell("Spill bytes", 1, "-O3"), "16/16");
    EXPECT_EQ(page.cell("Spill bytes", 1, "-O1"), "0/0");
    EXPECT_EQ(page.cell("Spill bytes", 2, "-O3"), "failed");
    EXPECT_EQ(page.cell("Spill bytes", 2, "-O1"), "-");
    EXPECT_EQ(page.count("//h2[contains(., 'Spill bytes')]/following-sibling::div[1]//td[contains(@class, 'heat')]"),
              1U);
    EXPECT_EQ(page.cell("Instructions by", 1, "-O3"), "4600");
    EXPECT_THAT(page.at("//h2[@id='problems']/following-sibling::ul/li"), HasSubstr("ptxas fatal: no"));
}

TEST(HtmlReport, LaysEachKernelOutAgainstAssemblersAndSumsThem) {
    Kernel bad = made_kernel("k"), other = made_kernel("other");
    test::add_spills(bad, 4, 4);
    test::add_spills(other, 1, 0);
    Report report = report_of({});
    report.assembled = {run_of("12.8.93", "-O3", {bad, other}), run_of("13.0.88", "-O3", {made_kernel("k"), other}),
                        run_of("13.0.88", "-O3", {})};
    report.assembled[2].ptx = "folder/fails.ptx";
    const Page page(report);
    EXPECT_EQ(page.cell("Spill bytes", 1, "-O3"), "20/16");
    EXPECT_EQ(page.cell("Spill bytes", 2, "-O3"), "4/0, 1 failed");
    EXPECT_EQ(page.cell("Spill bytes", 1, "PTX", 2), "k.ptx");
    EXPECT_EQ(page.cell("Spill bytes", 1, "12.8.93 -O3", 2), "16/16");
    EXPECT_EQ(page.cell("Spill bytes", 1, "13.0.88 -O3", 2), "0/0");
    EXPECT_EQ(page.cell("Spill bytes", 2, "13.0.88 -O3", 2), "4/0");
    EXPECT_EQ(page.cell("Spill bytes", 3, "PTX", 2), "fails.ptx");
    EXPECT_EQ(page.cell("Spill bytes", 3, "12.8.93 -O3", 2), "-");
    EXPECT_EQ(page.cell("Spill bytes", 3, "13.0.88 -O3", 2), "failed");
}

TEST(HtmlReport, DrawsWhatChanged) {
    Report report = report_of({made_kernel("k"), made_kernel("same")});
    test::add_spills(report.audit.kernels[0], 5, 5);
    test::change_code(report.audit.kernels[0], "more");
    report.audit.kernels[0].registers = 120;
    report.kind = ReportKind::kDiff;
    report.before.kernels = {made_kernel("k"), made_kernel("same")};
    report.before_name = "old.so";
    report.after_name = "new.so";
    report.changes = compare(report.before, report.audit);
    const Page page(report);
    EXPECT_EQ(page.cell("old.so \u2192 new.so", 1, "verdict"), "worse");
    EXPECT_EQ(page.cell("old.so \u2192 new.so", 1, "registers"), "128 \u2192 120");
    EXPECT_EQ(page.cell("old.so \u2192 new.so", 1, "spill bytes"), "0 \u2192 40");
    EXPECT_EQ(page.cell("old.so \u2192 new.so", 2, "kernel"), "same");
    EXPECT_EQ(page.cell("old.so \u2192 new.so", 2, "registers"), "128");
    EXPECT_THAT(page.at("//details[1]/summary/span[@class='bad']"), testing::StartsWith("worse +"));
    EXPECT_EQ(page.count("//details[div/@id='c1']//span[@class='bar']"), 5U);  // 4 before, and loop instructions after
    EXPECT_EQ(page.count("//details[div/@id='c1']//span[@class='bar more']"), 2U);
    EXPECT_EQ(page.count("//details[div/@id='c1']//span[@class='bar less']"), 1U);
    EXPECT_EQ(page.count("//details[div/@id='c2']"), 0U);
    // Bars stand to the left of their column, and so does its heading.
    EXPECT_EQ(page.count("//details[div/@id='c1']//th[@class='drawn'][.='before' or .='after']"), 2U);
    EXPECT_EQ(page.at("//td[.='spill bytes']/following-sibling::td[2]/span[2]"), "40");
}

TEST(HtmlReport, ListsWhatIsOverTheBudget) {
    Report report = report_of({made_kernel("covered"), made_kernel("stranger")});
    const Budget budget = parse_budget("[[rule]]\nkernel = \"cov*\"\nregisters = 100\n", "b.toml");
    report.kind = ReportKind::kCheck;
    report.result = check(report.audit, budget);
    const Page page(report);
    EXPECT_EQ(page.cell("over the budget", 1, "kernel"), "covered");
    EXPECT_EQ(page.cell("over the budget", 1, "figure"), "registers");
    EXPECT_EQ(page.cell("over the budget", 1, "value"), "128");
    EXPECT_EQ(page.cell("over the budget", 1, "allowed"), "100");
    EXPECT_THAT(page.at("//h3[.='No rule speaks of']/following-sibling::ul[1]/li"), HasSubstr("stranger"));
}

}  // namespace
}  // namespace jali::audit

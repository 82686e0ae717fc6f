#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pugixml.hpp>
#include <string>

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
    // Text of the cell in a body row of the table below a heading that contains `heading`.
    std::string cell(const std::string& heading, size_t row, size_t column) const {
        const std::string path = "//h2[contains(., '" + heading + "')]/following-sibling::div[1]/table/tbody/tr[" +
                                 std::to_string(row) + "]/td[" + std::to_string(column) + "]";
        return at(path.c_str());
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

TEST(HtmlReport, ShowsHostileNamesAsText) {
    const std::string name = "a\"'<script>alert(1)</script>&\x1b[31m\xff";
    Kernel kernel = made_kernel(name);
    kernel.demangled = name;
    kernel.origin = name;
    kernel.notes = {name};
    test::add_spill(kernel, {.file = "../<b>" + name, .line = 3});
    Report report = report_of({kernel});
    report.audit.problems = {{name, name}};
    const Page page(report);
    EXPECT_EQ(page.count("//script"), 1U);
    EXPECT_EQ(page.count("//b"), 0U);
    EXPECT_THAT(page.text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(page.text, HasSubstr("&lt;script&gt;alert(1)"));
    EXPECT_THAT(page.at("//summary"), HasSubstr("<script>alert(1)"));
}

TEST(HtmlReport, HasARowAKernelWithItsFigures) {
    Kernel spilling = made_kernel("spilling");
    test::add_spills(spilling, 3, 2);
    const Page page(report_of({made_kernel("calm"), spilling}));
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//tbody/tr"), 2U);
    EXPECT_EQ(page.cell("Kernels", 1, 1), "calm");
    EXPECT_EQ(page.cell("Kernels", 2, 1), "spilling");
    EXPECT_EQ(page.cell("Kernels", 2, 5), "128");
    EXPECT_EQ(page.cell("Kernels", 2, 10), "12/8");
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//td[contains(@class, 'heat')]"), 2U);
}

TEST(HtmlReport, TellsOfTheWorstKernelsOnlyWhereThereAreMany) {
    std::vector<Kernel> kernels;
    for (int i = 0; i < 250; ++i) kernels.push_back(made_kernel("kernel_" + std::to_string(i)));
    test::add_spills(kernels[240], 1, 1);
    const Page page(report_of(kernels));
    EXPECT_EQ(page.count("//h2[.='Kernels']/following-sibling::div[1]//tbody/tr"), 250U);
    EXPECT_EQ(page.count("//details"), 200U);
    EXPECT_THAT(page.at("//details[1]/summary"), HasSubstr("kernel_240"));
    EXPECT_THAT(page.text, HasSubstr("The 200 of 250 kernels"));
}

TEST(HtmlReport, ShowsLinesOfPtxWithTheirHeat) {
    Kernel kernel = made_kernel("spilling");
    kernel.ptx_text = "first\nsecond\nthird\n";
    test::add_spill(kernel, {.ptx_line = 2});
    const Page page(report_of({kernel}));
    EXPECT_THAT(page.at("//pre/span[@class='heat']"), HasSubstr("2  second"));
    EXPECT_EQ(page.count("//pre/span"), 3U);
}

TEST(HtmlReport, LaysAssemblersOutAsAMatrix) {
    Kernel bad = made_kernel("k");
    test::add_spills(bad, 4, 4);
    Report report = report_of({});
    report.assembled = {run_of("12.8.93", "-O3", {bad}), run_of("12.8.93", "-O1", {made_kernel("k")}),
                        run_of("13.0.88", "-O3", {})};
    const Page page(report);
    EXPECT_EQ(page.cell("Spill bytes", 1, 1), "k.ptx");
    EXPECT_EQ(page.cell("Spill bytes", 1, 3), "16/16");
    EXPECT_EQ(page.cell("Spill bytes", 1, 4), "0/0");
    EXPECT_EQ(page.cell("Spill bytes", 1, 5), "failed");
    EXPECT_EQ(page.count("//h2[contains(., 'Spill bytes')]/following-sibling::div[1]//td[contains(@class, 'heat')]"),
              1U);
    EXPECT_THAT(page.text, HasSubstr("ptxas fatal: no"));
}

TEST(HtmlReport, DrawsWhatChanged) {
    Report report = report_of({made_kernel("k")});
    test::add_spills(report.audit.kernels[0], 5, 5);
    test::change_code(report.audit.kernels[0], "more");
    report.kind = ReportKind::kDiff;
    report.before.kernels = {made_kernel("k")};
    report.before_name = "old.so";
    report.after_name = "new.so";
    report.changes = compare(report.before, report.audit);
    const Page page(report);
    EXPECT_THAT(page.text, HasSubstr("old.so \u2192 new.so"));
    EXPECT_THAT(page.at("//details[1]/summary/span[@class='bad']"), testing::StartsWith("worse +"));
    EXPECT_EQ(page.count("//span[contains(@class, 'bar')]"), 6U);
    EXPECT_EQ(page.at("//td[.='spill bytes']/following-sibling::td[2]/span[2]"), "40");
}

TEST(HtmlReport, ListsWhatIsOverTheBudget) {
    Report report = report_of({made_kernel("covered"), made_kernel("stranger")});
    const Budget budget = parse_budget("[[rule]]\nkernel = \"cov*\"\nregisters = 100\n", "b.toml");
    report.kind = ReportKind::kCheck;
    report.result = check(report.audit, budget);
    const Page page(report);
    EXPECT_EQ(page.cell("over the budget", 1, 4), "registers");
    EXPECT_EQ(page.cell("over the budget", 1, 5), "128");
    EXPECT_EQ(page.cell("over the budget", 1, 6), "100");
    EXPECT_THAT(page.at("//h3[.='No rule speaks of']/following-sibling::ul[1]/li"), HasSubstr("stranger"));
}

}  // namespace
}  // namespace jali::audit

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string_view>

#include "audit/html_kernel.h"
#include "audit/html_page.h"
#include "jali/audit_report.h"

namespace jali::audit {
namespace {

constexpr size_t kMostDetails = 200;
constexpr size_t kOpenDetails = 3;
constexpr size_t kFilesNamed = 8;
constexpr size_t kMostProblems = 1000;

// Now, or what reproducible builds set (reproducible-builds.org/docs/source-date-epoch).
std::time_t time_of_report() {
    const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
    if (epoch != nullptr) {
        const std::string_view text = epoch;
        uint32_t seconds = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
        if (error == std::errc() && end == text.data() + text.size()) return seconds;
    }
    return std::time(nullptr);
}

// "a (3), b (1)": each with the number of kernels.
std::string counted(const std::map<std::string, int64_t>& counts, const char* nameless) {
    std::string text;
    size_t named = 0;
    for (const auto& [name, count] : counts) {
        if (named == kFilesNamed) return text + fmt::format(" and {} more", counts.size() - named);
        text += fmt::format("{}{} ({})", named == 0 ? "" : ", ", name.empty() ? nameless : name, count);
        ++named;
    }
    return text.empty() ? "none" : text;
}

// What kernels were read from, and by what they were made; `side` of a comparison, else empty.
void add_provenance(pugi::xml_node facts, const std::string& side, const std::vector<const Kernel*>& kernels) {
    std::map<std::string, int64_t> assemblers, archs, files;
    for (const Kernel* kernel : kernels) {
        ++assemblers[kernel->assembler];
        ++archs[kernel->arch];
        ++files[kernel->origin.substr(0, kernel->origin.find('!'))];
    }
    const auto say = [&](const char* what, const std::string& text) { add_fact(facts, (side + what).c_str(), text); };
    say("read", counted(files, "a file without a name"));
    say("assembled by", counted(assemblers, "an assembler that the file does not name"));
    say("for", counted(archs, "an unknown architecture"));
}

std::vector<const Kernel*> pointers_to(const std::vector<Kernel>& kernels) {
    std::vector<const Kernel*> pointers;
    for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
    return pointers;
}

void add_summary(pugi::xml_node main, const Report& report, const std::vector<const Kernel*>& kernels,
                 size_t problems) {
    int64_t spilling = 0, serialised = 0, by_opcodes = 0;
    for (const Kernel* kernel : kernels) {
        spilling += kernel->spills != Traffic{};
        serialised += kernel->serialisation != Serialisation::kNone;
        by_opcodes += kernel->spill_source == SpillSource::kOpcodes;
    }
    add(main, "p",
        fmt::format("Kernels: {}. Of them {} spill, and in {} wgmma is serialised.", kernels.size(), spilling,
                    serialised));
    pugi::xml_node facts = add(main, "ul", {}, "facts");
    const bool is_diff = report.kind == ReportKind::kDiff;
    if (is_diff) add_provenance(facts, "before, ", pointers_to(report.before.kernels));
    add_provenance(facts, is_diff ? "after, " : "", kernels);
    add_fact(facts, "reported by",
             fmt::format("Jali {}, {:%Y-%m-%d %H:%M} UTC", JALI_VERSION, fmt::gmtime(time_of_report())));
    if (report.audit.ptx_images > 0)
        add_fact(facts, "PTX images that were not assembled", fmt::format("{}", report.audit.ptx_images));
    if (by_opcodes > 0) {
        add(main, "p",
            fmt::format("~ in {} kernels: their assembler lists no spills, so that they are told by opcodes and "
                        "may be fewer.",
                        by_opcodes),
            "faint");
    }
    add(main, "p", "Bytes and counts are what the code holds, a thread; they are not times.", "faint");
    if (problems > 0) {
        pugi::xml_node link = add(add(main, "p", {}, "bad"), "a", fmt::format("Not read or assembled: {}", problems));
        set(link, "href", "#problems");
    }
}

void add_problems(pugi::xml_node main, const std::vector<Problem>& problems) {
    if (problems.empty()) return;
    set(add(main, "h2", fmt::format("What could not be read or assembled: {}", problems.size())), "id", "problems");
    pugi::xml_node list = add(main, "ul");
    for (size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i) {
        const Problem& problem = problems[i];
        add(list, "li", (problem.origin.empty() ? "" : problem.origin + ": ") + problem.sentence, "bad");
    }
    if (problems.size() > kMostProblems) add(main, "p", fmt::format("The first {} of them.", kMostProblems), "faint");
}

void add_details(pugi::xml_node main, const Report& report, const std::vector<ShownKernel>& kernels) {
    const size_t told = std::min(kernels.size(), kMostDetails);
    if (told == 0) return;
    add(main, "h2",
        told == kernels.size() ? std::string("Each kernel, the worst first")
                               : fmt::format("The {} worst of {} kernels", told, kernels.size()));
    add(main, "p", "Worst: wgmma serialised, then spill bytes by loop depth, then instructions by loop depth.",
        "faint");
    SourceFiles files(report.source_roots);
    for (size_t i = 0; i < told; ++i) {
        const bool is_open = i < kOpenDetails && kernels[i].kernel->spills_weighted != Traffic{};
        add_kernel_details(main, kernels[i], is_open, files);
    }
}

}  // namespace

std::string html_report(const Report& report) {
    HtmlPage page(report.title);
    const std::vector<ShownKernel> kernels = shown_kernels(report, kMostDetails);
    const std::vector<Problem> problems = problems_of(report);
    add_summary(page.main(), report, kernels_of(report), problems.size());
    if (report.kind == ReportKind::kDiff) add_changes(page.main(), report);
    if (report.kind == ReportKind::kCheck) add_check(page.main(), report.result);
    add_matrix(page.main(), report.assembled);
    add(page.main(), "h2", "Kernels");
    add_kernel_table(page.main(), kernels, report.device_names);
    add_details(page.main(), report, kernels);
    add_problems(page.main(), problems);
    add(page.main(), "p", fmt::format("This page has {} kB.", (page.text().size() + 999) / 1000), "faint");
    return page.text();
}

}  // namespace jali::audit

// jali audit: what a compiler did to CUDA kernels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/audit/command.h"
#include "cli/audit/hot_spot_text.h"
#include "cli/audit/kernel_details.h"
#include "cli/audit/kernel_source.h"
#include "cli/audit/kernel_table.h"
#include "cli/audit/matrix_table.h"
#include "cli/audit/report_files.h"
#include "cli/console.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples =
    R"(The table: registers and threads a block at most; bytes of stack = local arrays + spill slots;
spill bytes and instructions, stores/loads; the same bytes times ten for each loop around them; the
register budgets of setmaxnreg; whether wgmma is serialised; static shared memory; instructions.

Examples:
  jali audit libflash.so
      Every kernel of a library; also of cubins, objects, archives, wheels, and folders of these.
  jali audit flash.whl --kernel backward --arch sm_90a --lines
      Where the spills are, by line of source or PTX.
  jali audit k.cubin --details --device H200
      All that is known of a kernel, and its theoretical occupancy.
  jali audit k.ptx --ptxas 12.8.93,13.0.88,13.5.37 --options "-O3|-O2|-O1" --arch sm_100a
      One PTX by three assemblers and three options, as a matrix. jali toolchain install fetches assemblers.
  jali audit k.ptx --route ptxas,nvlink --html k.html
      Assembled at once, and as relocatable code that is then linked; with a page for browsers.
  jali audit diff old.so new.so
  jali audit check libflash.so --budget audit.toml
  jali audit unpack libflash.so --out images

Exit codes: 0 fine, 1 something could not be read or assembled (the rest is reported), 2 bad usage or input.
)";

struct Options {
    std::vector<std::string> paths;
    SourceOptions source;
    ReportOptions report;
    std::vector<std::string> devices, roots;
    bool details = false, lines = false, prefer_ptx = false;
};

std::vector<std::string> devices_of(const std::vector<std::string>& texts) {
    std::vector<std::string> known, wanted;
    for (const audit::Device& device : audit::devices()) known.push_back(device.name);
    for (const std::string& text : texts) {
        for (const std::string& name : parts_of(text, ',')) {
            if (std::ranges::find(known, name) == known.end()) {
                throw Error(fmt::format("--device is '{}' but must be one of {}", name, fmt::join(known, ", ")));
            }
            wanted.push_back(name);
        }
    }
    return wanted;
}

void check_combination(const Options& options) {
    if (options.paths.empty()) throw Error("name at least one PATH (jali audit --help shows examples)");
    const bool shows_lines = options.lines || !options.report.html_file.empty();
    if (!options.roots.empty() && !shows_lines) throw Error("--source-root has no effect without --lines or --html");
    if (options.prefer_ptx && !options.lines) throw Error("--ptx-lines has no effect without --lines");
    if (options.report.json && (options.details || options.lines)) {
        throw Error("--json has all details and lines: leave --details and --lines out");
    }
}

// What follows the tables, kernel by kernel.
std::string parts_text(const std::vector<const audit::Kernel*>& kernels, const Options& options) {
    std::string text;
    audit::SourceFiles files(options.roots);
    HotSpotOptions spots;
    if (options.prefer_ptx) spots.prefer = audit::LineKind::kPtx;
    for (const audit::Kernel* kernel : kernels) {
        if (options.details) text += "\n" + kernel_details(*kernel);
        if (!options.lines) continue;
        const std::string places = hot_spot_text(*kernel, spots, files);
        if (!places.empty()) text += "\n" + places;
    }
    return text;
}

std::string text_of(const audit::Report& report, const Options& options) {
    const std::vector<const audit::Kernel*> kernels = kernels_of(report);
    std::string text;
    if (is_matrix(report.assembled)) text = matrix_table(report.assembled) + "\n";
    if (text.empty() || !report.audit.kernels.empty()) text += kernel_table(kernels, report.device_names);
    text += assembly_remarks(report.assembled);
    const auto add = [&](int64_t count, std::string_view noun, std::string_view rest) {
        if (count > 0) text += fmt::format("{} {}\n", plural(count, noun), rest);
    };
    add(report.audit.ptx_images, "PTX image", "not assembled: --ptxas VERSION does (jali toolchain list)");
    add(report.audit.other_images, "image", "of intermediate code, which is not read");
    add(report.audit.old_images, "image", "for architectures before sm_80, which are not read");
    return text + parts_text(kernels, options);
}

int run(Options options) {
    check_combination(options);
    check_report_files(options.report);
    audit::Report report;
    report.device_names = devices_of(options.devices);
    report.source_roots = options.roots;
    options.source.keep_ptx_text = options.lines || !options.report.html_file.empty();
    Kernels kernels = read_kernels(options.paths, options.source);
    report.title = fmt::format("jali audit {}", fmt::join(options.paths, " "));
    report.audit = std::move(kernels.audit);
    report.assembled = std::move(kernels.assembled);
    deliver(report, options.report, options.report.json ? "" : text_of(report, options));
    const std::vector<audit::Problem> problems = problems_of(report);
    complain_of(problems);
    return problems.empty() ? kFine : kCheckFailed;
}

}  // namespace

void add_audit_command(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("audit", "What a compiler did to CUDA kernels: spills, registers, loops");
    command.add_option("paths", options->paths, "Cubins, fat binaries, objects, libraries, wheels, folders, PTX")
        ->type_name("PATH...");
    add_source_options(command, options->source);
    const std::string group = "Output";
    command.add_flag("--details", options->details, "Below the table all that is known of each kernel")->group(group);
    command.add_flag("--lines", options->lines, "Below the table where each kernel spills")->group(group);
    command.add_flag("--ptx-lines", options->prefer_ptx, "By line of PTX even where there are source lines")
        ->group(group);
    add_list(command, "--source-root", options->roots, "DIR", group,
             "Show source lines from files below this folder (repeatable)");
    add_list(command, "--device", options->devices, "NAME,...", group,
             "Show the theoretical occupancy on these: H200,B200,A100 ...");
    add_report_options(command, options->report);
    command.footer(kExamples);
    add_audit_diff_command(command, chosen);
    add_audit_check_command(command, chosen);
    add_audit_unpack_command(command, chosen);
    command.callback([options, &command, &chosen] {
        if (command.get_subcommands().empty()) chosen = [options] { return run(*options); };
    });
}

}  // namespace jali::cli

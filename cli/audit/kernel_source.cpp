#include "cli/audit/kernel_source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "audit/file_kind.h"
#include "cli/console.h"
#include "cli/numbers.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

namespace fs = std::filesystem;

constexpr IntegerRange kThreads{1, 1024};

std::vector<std::string> all_parts(const std::vector<std::string>& texts, char separator) {
    std::vector<std::string> parts;
    for (const std::string& text : texts) {
        for (std::string& part : parts_of(text, separator)) parts.push_back(std::move(part));
    }
    return parts;
}

std::vector<audit::Route> routes_of(const std::vector<std::string>& texts) {
    std::vector<audit::Route> routes;
    for (const std::string& name : all_parts(texts, ',')) {
        if (name != "ptxas" && name != "nvlink") {
            throw Error(fmt::format("--route is '{}' but must be ptxas or nvlink (ptxas -c, then nvlink)", name));
        }
        routes.push_back(name == "nvlink" ? audit::Route::kLinked : audit::Route::kDirect);
    }
    return routes;
}

bool is_ptx_file(const fs::path& path) {
    if (!fs::is_regular_file(path)) return false;
    if (path.extension() == ".ptx") return true;
    std::array<char, audit::kKindBytes> beginning{};
    std::ifstream file(path, std::ios::binary);
    file.read(beginning.data(), beginning.size());
    const auto* const bytes = reinterpret_cast<const uint8_t*>(beginning.data());
    return audit::kind_of({bytes, static_cast<size_t>(file.gcount())}) == audit::FileKind::kPtx;
}

void append(audit::Audit& all, audit::Audit part) {
    std::ranges::move(part.kernels, std::back_inserter(all.kernels));
    std::ranges::move(part.problems, std::back_inserter(all.problems));
    all.ptx_images += part.ptx_images;
    all.other_images += part.other_images;
    all.old_images += part.old_images;
}

audit::Audit read_path(const std::string& path, const SourceOptions& options) {
    const std::vector<std::string> archs = all_parts(options.archs, ',');
    audit::ReadOptions read;
    if (archs.size() == 1) read.arch = archs.front();
    read.name_contains = options.kernel;
    read.threads = options.threads.value_or(0);
    read.keep_ptx_text = options.keep_ptx_text;
    Progress progress("reading " + path);
    read.progress = [&](int64_t done, int64_t found) {
        progress.relabel(fmt::format("reading {}: {} of {} found", path, group_digits(done), plural(found, "image")));
    };
    audit::Audit found = audit::read(path, read);
    if (archs.size() > 1) {
        std::erase_if(found.kernels, [&](const audit::Kernel& kernel) {
            return std::ranges::find(archs, kernel.arch) == archs.end();
        });
    }
    return found;
}

std::vector<audit::Assembled> assemble_paths(const std::vector<fs::path>& paths, const SourceOptions& options) {
    Progress progress("assembling");
    audit::AssembleOptions assembling = assemble_options(options);
    assembling.progress = [&](int64_t done, int64_t all) {
        progress.relabel(fmt::format("assembling, {} of {}", done, all));
        progress.advance(static_cast<double>(done) / static_cast<double>(all));
    };
    return audit::assemble(paths, assembling);
}

}  // namespace

std::vector<std::string> parts_of(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        const std::string part = CLI::detail::trim_copy(text.substr(begin, end - begin));
        if (!part.empty()) parts.push_back(part);
        begin = end + 1;
    }
    return parts;
}

void add_list(CLI::App& command, const std::string& name, std::vector<std::string>& target, const std::string& type,
              const std::string& group, const std::string& description) {
    command.add_option(name, target, description)->type_name(type)->allow_extra_args(false)->group(group);
}

void add_source_options(CLI::App& command, SourceOptions& options) {
    const std::string which = "Which kernels";
    command.add_option("--kernel", options.kernel, "Only those whose name, or demangled name, contains TEXT")
        ->type_name("TEXT")
        ->group(which);
    add_list(command, "--arch", options.archs, "ARCH,...", which, "Only these, or those to assemble for: sm_90a");
    const std::string group = "Assembling PTX";
    add_list(command, "--ptxas", options.ptxas, "VERSION,...", group,
             "By these assemblers (jali toolchain list): 12.8,13.0.88, a path, or all; default the newest");
    add_list(command, "--options", options.options, "TEXT|...", group, "With each of these: \"-O3|-O2|-O1\"");
    add_list(command, "--route", options.routes, "ROUTE,...", group, "ptxas, nvlink (ptxas -c, then nvlink), or both");
    add_number(command, "--timeout", options.timeout_seconds, "Seconds that one assembly may take (default: 600)")
        ->group(group);
    command.add_flag("--no-cache", options.no_cache, "Assemble again what was assembled before")->group(group);
    add_integer(command, "--threads", options.threads, kThreads, "Threads (default: all)");
}

audit::AssembleOptions assemble_options(const SourceOptions& options) {
    audit::AssembleOptions assembling;
    // By version alone: one that is not here fails in its rows, and the others are still reported.
    for (const std::string& version : all_parts(options.ptxas, ',')) {
        if (version == "all") {
            std::ranges::move(audit::find_assemblers(), std::back_inserter(assembling.assemblers));
            if (assembling.assemblers.empty())
                throw Error("--ptxas all: there is no assembler here (jali toolchain install)");
            continue;
        }
        audit::Assembler assembler;
        assembler.version = version;
        assembling.assemblers.push_back(std::move(assembler));
    }
    if (!options.options.empty()) assembling.options = all_parts(options.options, '|');
    if (assembling.options.empty()) assembling.options = {""};
    assembling.archs = all_parts(options.archs, ',');
    if (!options.routes.empty()) assembling.routes = routes_of(options.routes);
    assembling.threads = options.threads.value_or(0);
    if (options.timeout_seconds) {
        if (*options.timeout_seconds <= 0) {
            throw Error(fmt::format("--timeout is {} but must be more than 0 seconds", *options.timeout_seconds));
        }
        assembling.timeout_seconds = *options.timeout_seconds;
    }
    assembling.use_cache = !options.no_cache;
    assembling.name_contains = options.kernel;
    assembling.keep_ptx_text = options.keep_ptx_text;
    return assembling;
}

int64_t Kernels::count() const {
    size_t count = audit.kernels.size();
    for (const audit::Assembled& run : assembled) count += run.kernels.size();
    return static_cast<int64_t>(count);
}

Kernels read_kernels(const std::vector<std::string>& paths, const SourceOptions& options) {
    std::vector<fs::path> to_assemble;
    std::vector<std::string> to_read;
    for (const std::string& path : paths) {
        if (!fs::exists(path)) throw FileError(fmt::format("there is no '{}'", path));
        note_input(path);
        if (options.assembles() || is_ptx_file(path)) {
            to_assemble.emplace_back(path);
        } else {
            to_read.push_back(path);
        }
    }
    Kernels kernels;
    if (!to_assemble.empty()) kernels.assembled = assemble_paths(to_assemble, options);
    for (const std::string& path : to_read) append(kernels.audit, read_path(path, options));
    return kernels;
}

audit::Audit merged(Kernels kernels) {
    audit::Report failures;
    failures.assembled = std::move(kernels.assembled);
    audit::Audit all = std::move(kernels.audit);
    std::ranges::move(problems_of(failures), std::back_inserter(all.problems));
    for (audit::Assembled& run : failures.assembled) {
        std::ranges::move(run.kernels, std::back_inserter(all.kernels));
    }
    return all;
}

}  // namespace jali::cli

// jali toolchain: the assemblers on this machine, and others fetched beside them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/audit/command.h"
#include "cli/console.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "jali/audit_assemble.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  jali toolchain list
      The assemblers here: versions, the newest PTX of each, where they are.
  jali toolchain install 13.0.88
      Fetches one from PyPI with pip, as pip is configured here.
  jali toolchain install 12.8 12.9 13
      The newest of each.
  jali toolchain path 13.0
      The file, for scripts: $(jali toolchain path 13.0) --version
  jali toolchain remove 12.8.93

Jali looks at $JALI_PTXAS, PATH, $CUDA_HOME, $CUDA_PATH and /usr/local/cuda*, and keeps what it fetches in $JALI_CACHE,
else $XDG_CACHE_HOME/jali, else ~/.cache/jali. The assemblers are NVIDIA's, under NVIDIA's terms.
)";

struct ToolchainArguments {
    std::vector<std::string> versions;
    std::string version;
    bool json = false;
};

// All that there are: those of ours with their hashes checked, which find_assemblers() does not wait for.
std::vector<audit::Assembler> all_assemblers() {
    std::vector<audit::Assembler> all = audit::find_assemblers();
    for (const audit::Assembler& installed : audit::check_installed()) {
        const auto same = std::ranges::find(all, installed.ptxas, &audit::Assembler::ptxas);
        if (same != all.end()) {
            *same = installed;
        } else if (installed.altered) {
            all.push_back(installed);
        }
    }
    return all;
}

std::string source_of(const audit::Assembler& assembler) {
    if (assembler.altered) return "ALTERED";
    return assembler.installed_by_us ? "jali" : "found";
}

int list(const ToolchainArguments& arguments) {
    const std::vector<audit::Assembler> all = all_assemblers();
    const bool sound = std::ranges::none_of(all, &audit::Assembler::altered);
    if (arguments.json) {
        Json json = {{"cache", audit::cache_folder().string()}, {"assemblers", Json::array()}};
        for (const audit::Assembler& assembler : all) {
            json["assemblers"].push_back({{"version", assembler.version},
                                          {"ptx_version", assembler.ptx_version},
                                          {"ptxas", assembler.ptxas.string()},
                                          {"nvlink", assembler.nvlink.string()},
                                          {"sha256", assembler.sha256},
                                          {"installed_by_jali", assembler.installed_by_us},
                                          {"altered", assembler.altered}});
        }
        print_document(json);
        return sound ? kFine : kCheckFailed;
    }
    if (all.empty()) {
        print("There is no ptxas here. `jali toolchain install 13` fetches one.\n");
        return kFine;
    }
    print(fmt::format("{:<10}{:<12}{:<8}{:<9}{}\n", "version", "newest PTX", "nvlink", "from", "ptxas"));
    for (const audit::Assembler& assembler : all) {
        print(fmt::format("{:<10}{:<12}{:<8}{:<9}{}\n", assembler.version,
                          assembler.ptx_version.empty() ? "-" : assembler.ptx_version,
                          assembler.nvlink.empty() ? "no" : "yes", source_of(assembler), assembler.ptxas.string()));
    }
    if (!sound) {
        warn(
            "what is ALTERED differs from the hash of its installation and is not used; remove it and install it "
            "again");
    }
    return sound ? kFine : kCheckFailed;
}

// One that cannot be had leaves the others in place.
int install(const ToolchainArguments& arguments) {
    int status = kFine;
    for (const std::string& version : arguments.versions) {
        try {
            Progress progress("ptxas " + version);
            const auto show = [&](std::string_view step, int64_t bytes) {
                progress.relabel(bytes > 0 ? fmt::format("{}: {}", step, format_bytes(bytes)) : std::string(step));
            };
            const audit::Assembler assembler = audit::install_assembler(version, show);
            print(fmt::format("ptxas {}, PTX up to {}: {}\n", assembler.version, assembler.ptx_version,
                              assembler.ptxas.string()));
        } catch (const Error& error) {
            fmt::print(stderr, "jali: {}\n", error.what());
            status = kBadInput;
        }
    }
    return status;
}

int clear_cache() {
    const audit::CacheUse use = audit::clear_assembly_cache();
    print(fmt::format("removed {}, {}\n", plural(use.results, "result"), format_bytes(use.bytes)));
    return kFine;
}

}  // namespace

void add_toolchain_command(CLI::App& app, Command& chosen) {
    const auto arguments = std::make_shared<ToolchainArguments>();
    CLI::App& command = *app.add_subcommand("toolchain", "The assemblers here, and others fetched beside them");
    command.require_subcommand(1);
    command.footer(kExamples);

    CLI::App& listing = *command.add_subcommand("list", "What there is; hashes of what jali fetched are checked");
    listing.add_flag("--json", arguments->json, "Print JSON instead of a table");
    listing.callback([arguments, &chosen] { chosen = [arguments] { return list(*arguments); }; });

    CLI::App& installing = *command.add_subcommand("install", "Fetch assemblers from PyPI with pip");
    installing
        .add_option("versions", arguments->versions, "Exact (13.0.88), or a beginning (13.0: the newest of those)")
        ->required()
        ->type_name("VERSION...");
    installing.callback([arguments, &chosen] { chosen = [arguments] { return install(*arguments); }; });

    const auto add_version = [&](CLI::App& subcommand) {
        subcommand.add_option("version", arguments->version, "Exact, or its beginning")
            ->required()
            ->type_name("VERSION");
    };
    CLI::App& path = *command.add_subcommand("path", "Print where the ptxas of a version is");
    add_version(path);
    path.callback([arguments, &chosen] {
        chosen = [arguments] {
            print(audit::find_assembler(arguments->version).ptxas.string() + "\n");
            return kFine;
        };
    });
    CLI::App& removing = *command.add_subcommand("remove", "Remove one that jali fetched");
    add_version(removing);
    removing.callback([arguments, &chosen] {
        chosen = [arguments] {
            print("removed ptxas " + audit::remove_assembler(arguments->version).version + "\n");
            return kFine;
        };
    });
    CLI::App& clearing = *command.add_subcommand("clear-cache", "Forget the results of assembling");
    clearing.callback([&chosen] { chosen = clear_cache; });
}

}  // namespace jali::cli

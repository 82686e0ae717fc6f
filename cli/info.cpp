// jali info: what this build and this machine can do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_output.h"
#include "cli/machine.h"
#include "jali/attention.h"
#include "jali/block_mask.h"
#include "jali/mask_file.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  jali info
      Version, engines, instruction sets, processors, memory, GPU and limits.
  jali info --json
      The same for a program.
)";

constexpr int64_t kLargestHeadDim = 256;

int print_json(const Machine& machine) {
    Json json = {{"version", JALI_VERSION}, {"engines", Json::array()}};
    for (const EngineInfo& engine : engines()) {
        json["engines"].push_back({{"name", engine.name}, {"description", engine.description}});
    }
    json["processor"] = machine.processor;
    json["threads"] = machine.threads;
    json["memory_bytes"] = machine.memory_bytes;
    json["instruction_sets"] = machine.instruction_sets;
    json["gpu"] = gpu_description();
    json["limits"] = {{"tile_rows", kTileRows},
                      {"largest_head_dim", kLargestHeadDim},
                      {"block_mask_bytes", BuildOptions{}.byte_limit},
                      {"mask_file_version", kMaskFileVersion}};
    print_document(json);
    return kFine;
}

int print_text(const Machine& machine) {
    Rows rows;
    rows.add("version", JALI_VERSION);
    bool first = true;
    for (const EngineInfo& engine : engines()) {
        rows.add(first ? "engines" : "", fmt::format("{}: {}", engine.name, engine.description));
        first = false;
    }
    rows.add("processor", fmt::format("{}, {}", machine.processor, plural(machine.threads, "thread")));
    rows.add("instruction sets", fmt::format("{}", fmt::join(machine.instruction_sets, " ")));
    rows.add("memory", format_bytes(machine.memory_bytes));
    rows.add("gpu", gpu_description());
    rows.add("limits", fmt::format("head dimensions up to {}; a block mask up to {} (--byte-limit); .jmask version {}",
                                   kLargestHeadDim, format_bytes(BuildOptions{}.byte_limit), kMaskFileVersion));
    print("jali\n" + rows.text());
    return kFine;
}

}  // namespace

void add_info_command(CLI::App& app, Command& chosen) {
    const auto json = std::make_shared<bool>(false);
    CLI::App& command = *app.add_subcommand("info", "Engines, instruction sets, devices, versions and limits");
    command.add_flag("--json", *json, "Print JSON instead of a table");
    command.footer(kExamples);
    command.callback([json, &chosen] {
        chosen = [json] { return *json ? print_json(this_machine()) : print_text(this_machine()); };
    });
}

}  // namespace jali::cli

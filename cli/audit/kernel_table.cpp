#include "cli/audit/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit/kernel_text.h"
#include "audit/short_names.h"
#include "audit/visible_text.h"
#include "cli/console.h"

namespace jali::cli {

namespace {

constexpr size_t kNameWidth = 44;

std::string pair_text(int64_t stores, int64_t loads) {
    return fmt::format("{}/{}", group_digits(stores), group_digits(loads));
}

bool spills(const audit::Kernel& kernel) {
    return kernel.spills != audit::Traffic{};
}

std::string stack_text(const audit::Kernel& kernel) {
    if (kernel.array_bytes == 0 && kernel.spill_frame_bytes == 0) return group_digits(kernel.stack_bytes);
    return fmt::format("{}={}+{}", group_digits(kernel.stack_bytes), group_digits(kernel.array_bytes),
                       group_digits(kernel.spill_frame_bytes));
}

std::vector<std::string> cells_of(const audit::Kernel& kernel, const std::string& name) {
    return {name,
            audit::visible(kernel.arch),
            group_digits(kernel.registers),
            kernel.threads_bound > 0 ? group_digits(kernel.threads_bound) : "-",
            stack_text(kernel),
            spill_bytes_text(kernel),
            pair_text(kernel.spills.stores, kernel.spills.loads),
            pair_text(kernel.spills_weighted.store_bytes, kernel.spills_weighted.load_bytes),
            budgets_text(kernel),
            kernel.serialisation == audit::Serialisation::kNone ? "-" : "SERIAL",
            group_digits(kernel.static_shared_bytes),
            group_digits(kernel.mix.total),
            group_digits(kernel.code_bytes)};
}

std::string list_of(const std::set<std::string>& texts) {
    constexpr size_t kMost = 4;
    std::vector<std::string> shown(texts.begin(), texts.end());
    if (shown.size() > kMost) {
        const size_t more = shown.size() - kMost;
        shown.resize(kMost);
        shown.push_back(fmt::format("{} more", more));
    }
    return fmt::format("{}", fmt::join(shown, ", "));
}

std::string summary_of(const std::vector<const audit::Kernel*>& kernels) {
    audit::Traffic sum;
    int64_t spilling = 0, serialised = 0, by_opcodes = 0, unknown = 0, instructions = 0;
    std::set<std::string> assemblers;
    for (const audit::Kernel* kernel : kernels) {
        spilling += spills(*kernel) ? 1 : 0;
        sum.store_bytes += kernel->spills.store_bytes;
        sum.load_bytes += kernel->spills.load_bytes;
        serialised += kernel->serialisation == audit::Serialisation::kNone ? 0 : 1;
        by_opcodes += kernel->spill_source == audit::SpillSource::kOpcodes ? 1 : 0;
        unknown += kernel->mix.unknown;
        instructions += kernel->mix.total;
        assemblers.insert(kernel->assembler.empty() ? "an assembler that the file does not name"
                                                    : audit::visible(kernel->assembler));
    }
    std::string text = fmt::format("{} by {}; {} of them spill", plural(static_cast<int64_t>(kernels.size()), "kernel"),
                                   list_of(assemblers), spilling == 0 ? "none" : group_digits(spilling));
    if (spilling > 0)
        text += fmt::format(", {} B of stores/loads a thread in all", pair_text(sum.store_bytes, sum.load_bytes));
    if (serialised > 0) text += fmt::format("; wgmma is serialised in {}", group_digits(serialised));
    text += "\n";
    if (by_opcodes > 0) {
        text += fmt::format("~ in {}: no list of spills in the file, told by opcodes (docs/audit.md)\n",
                            plural(by_opcodes, "kernel"));
    }
    if (unknown > 0) {
        text += fmt::format("{} of {} instructions are unknown to this reader\n", group_digits(unknown),
                            group_digits(instructions));
    }
    return text;
}

}  // namespace

std::string spill_bytes_text(const audit::Kernel& kernel) {
    const bool estimated = kernel.spill_source == audit::SpillSource::kOpcodes;
    return (estimated ? "~" : "") + pair_text(kernel.spills.store_bytes, kernel.spills.load_bytes);
}

std::string kernel_table(const std::vector<const audit::Kernel*>& kernels, const std::vector<std::string>& devices) {
    if (kernels.empty()) return "no kernels\n";
    std::vector<std::string> heading = {"kernel",     "arch",       "regs",  "threads", "stack",  "spill B", "spills",
                                        "by depth B", "setmaxnreg", "wgmma", "smem",    "instrs", "code B"};
    const std::vector<audit::Device> shown = audit::devices_named(devices);
    for (const audit::Device& device : shown) heading.push_back("warps, " + device.name);
    Columns columns(heading);
    const std::vector<std::string> names = audit::short_names(kernels, kNameWidth);
    for (size_t i = 0; i < kernels.size(); ++i) {
        std::vector<std::string> cells = cells_of(*kernels[i], names[i]);
        for (const audit::Device& device : shown)
            cells.push_back(occupancy_text(occupancy(*kernels[i], device), device));
        columns.add(std::move(cells));
    }
    return columns.text() + "\n" + summary_of(kernels);
}

}  // namespace jali::cli

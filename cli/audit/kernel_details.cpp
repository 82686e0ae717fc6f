#include "cli/audit/kernel_details.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "audit/kernel_text.h"
#include "audit/visible_text.h"
#include "cli/audit/kernel_table.h"
#include "cli/console.h"

namespace jali::cli {

namespace {

using audit::Kernel;

// Those that are not 0.
std::string counts_text(const std::vector<audit::NamedCount>& counts) {
    std::string text;
    for (const auto& [name, count] : counts) {
        if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, group_digits(count));
    }
    return text.empty() ? "none" : text;
}

std::string distance_text(const audit::LoadDistance& distance) {
    if (distance.loads == 0) return "none";
    return fmt::format("{}, the median {} before the first that waits for it, {} of them under 8",
                       plural(distance.loads, "load"), plural(distance.median, "instruction"),
                       group_digits(distance.under_8));
}

std::string spills_text(const Kernel& kernel) {
    if (kernel.spills == audit::Traffic{}) return "none";
    return fmt::format("{} B in {} stores and {} loads; by loop depth {}/{} B; from {}", spill_bytes_text(kernel),
                       group_digits(kernel.spills.stores), group_digits(kernel.spills.loads),
                       group_digits(kernel.spills_weighted.store_bytes),
                       group_digits(kernel.spills_weighted.load_bytes), name_of(kernel.spill_source));
}

std::string shared_text(const Kernel& kernel) {
    const std::string dynamic = kernel.dynamic_shared_bytes < 0
                                    ? "what a launch adds is not known"
                                    : group_digits(kernel.dynamic_shared_bytes) + " B dynamic";
    return fmt::format("{} B static; {}", group_digits(kernel.static_shared_bytes), dynamic);
}

std::string traffic_text(const audit::Traffic& traffic) {
    return fmt::format("{}/{}", group_digits(traffic.store_bytes), group_digits(traffic.load_bytes));
}

std::string role_name(const Kernel& kernel, int64_t role) {
    if (role < 0 || kernel.roles.size() < 2) return "-";
    return fmt::format("{}", role);
}

std::string roles_table(const Kernel& kernel) {
    if (kernel.roles.size() < 2) return "";
    Columns columns({"role", "registers", "from", "instructions", "spill B"});
    for (size_t i = 0; i < kernel.roles.size(); ++i) {
        const audit::Role& role = kernel.roles[i];
        columns.add({fmt::format("{}", i), group_digits(role.registers), fmt::format("{:#x}", role.begin),
                     group_digits(role.instructions), traffic_text(role.spills)});
    }
    return "\n" + columns.text();
}

std::string loops_table(const Kernel& kernel) {
    if (kernel.loops.empty()) return "";
    Columns columns({"loop", "depth", "innermost", "instructions", "branches", "role", "spill B"});
    for (const audit::Loop& loop : kernel.loops) {
        columns.add({fmt::format("{:#x} to {:#x}", loop.begin, loop.end), group_digits(loop.depth),
                     loop.innermost ? "yes" : "no", group_digits(loop.instructions), group_digits(loop.branches),
                     role_name(kernel, loop.role), traffic_text(loop.spills)});
    }
    return "\n" + columns.text();
}

std::string wgmma_text(const Kernel& kernel) {
    if (kernel.serialisation == audit::Serialisation::kNone) return "not serialised";
    return fmt::format("SERIALISED ({}): each group is waited for before the next", name_of(kernel.serialisation));
}

}  // namespace

std::string kernel_details(const Kernel& kernel) {
    Rows rows;
    rows.add("in", audit::visible(kernel.origin));
    rows.add("for", audit::visible(kernel.arch));
    rows.add("by", audit::visible(kernel.assembler + (kernel.options.empty() ? "" : ": " + kernel.options)));
    rows.add("registers",
             fmt::format("{} a thread, {}; {}", group_digits(kernel.registers),
                         kernel.threads_bound > 0 ? plural(kernel.threads_bound, "thread") + " a block at most"
                                                  : "no bound on threads",
                         plural(kernel.barriers, "barrier")));
    rows.add("stack", fmt::format("{} B: local arrays {}, spill slots {}", group_digits(kernel.stack_bytes),
                                  group_digits(kernel.array_bytes), group_digits(kernel.spill_frame_bytes)));
    rows.add("spills", spills_text(kernel));
    if (kernel.shared_spills != audit::Traffic{}) {
        rows.add("spills to shared",
                 fmt::format("{} B in {} stores and {} loads", traffic_text(kernel.shared_spills),
                             group_digits(kernel.shared_spills.stores), group_digits(kernel.shared_spills.loads)));
    }
    rows.add("wgmma", wgmma_text(kernel));
    rows.add("shared memory", shared_text(kernel));
    rows.add("code", fmt::format("{} B, {}, sha256 {}", group_digits(kernel.code_bytes),
                                 plural(kernel.mix.total, "instruction"), kernel.code_sha256));
    rows.add("mix", counts_text(kinds_of(kernel.mix)));
    rows.add("IMAD", counts_text(imad_uses_of(kernel.mix)));
    rows.add("global loads", distance_text(kernel.global_loads));
    rows.add("shared loads", distance_text(kernel.shared_loads));
    for (const std::string& note : kernel.notes) rows.add("note", audit::visible(note));
    return audit::visible(full_name(kernel)) + "\n" + rows.text() + roles_table(kernel) + loops_table(kernel);
}

}  // namespace jali::cli

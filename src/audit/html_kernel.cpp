#include "audit/html_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "jali/audit_compare.h"

namespace jali::audit {
namespace {

constexpr size_t kMostLoops = 40;

std::string distance_text(const LoadDistance& distance) {
    if (distance.loads == 0) return "none";
    return fmt::format("{}, the median {} instructions before what waits for it, {} under 8", distance.loads,
                       distance.median, distance.under_8);
}

void add_facts(pugi::xml_node parent, const Kernel& kernel) {
    pugi::xml_node list = add(parent, "ul", {}, "facts");
    add_fact(list, "name", full_name(kernel));
    if (full_name(kernel) != kernel.name) add_fact(list, "mangled", kernel.name);
    add_fact(list, "in", kernel.origin);
    add_fact(list, "by", kernel.assembler + (kernel.options.empty() ? "" : ", " + kernel.options));
    add_fact(list, "threads", kernel.threads_bound > 0 ? fmt::format("at most {}", kernel.threads_bound) : "not bound");
    add_fact(list, "stack",
             fmt::format("{} B: local arrays {}, spill slots {}", kernel.stack_bytes, kernel.array_bytes,
                         kernel.spill_frame_bytes));
    add_fact(list, "spills",
             fmt::format(
                 "{} B in {} stores and {} loads, {}", pair_text(kernel.spills.store_bytes, kernel.spills.load_bytes),
                 kernel.spills.stores, kernel.spills.loads,
                 kernel.spill_source == SpillSource::kAnnotations ? "as the assembler lists them" : "told by opcodes"));
    if (kernel.shared_spills != Traffic{}) {
        add_fact(list, "spills to shared memory",
                 pair_text(kernel.shared_spills.store_bytes, kernel.shared_spills.load_bytes) + " B");
    }
    const std::string dynamic =
        kernel.dynamic_shared_bytes < 0 ? "" : fmt::format(", {} dynamic", kernel.dynamic_shared_bytes);
    add_fact(list, "shared memory", fmt::format("{} B static{}", kernel.static_shared_bytes, dynamic));
    add_fact(list, "barriers", fmt::format("{}", kernel.barriers));
    add_fact(list, "wgmma",
             kernel.serialisation == Serialisation::kNone
                 ? "not serialised"
                 : fmt::format("serialised ({})", name_of(kernel.serialisation)));
    add_fact(list, "global loads", distance_text(kernel.global_loads));
    add_fact(list, "shared loads", distance_text(kernel.shared_loads));
    for (const std::string& note : kernel.notes) add_fact(list, "note", note);
    add_fact(list, "code", fmt::format("{} B, sha256 {}", kernel.code_bytes, kernel.code_sha256));
}

void add_mix(pugi::xml_node parent, const InstructionMix& m) {
    std::vector<NamedCount> counts = kinds_of(m);
    std::erase_if(counts, [](const NamedCount& count) { return count.second == 0; });
    if (counts.empty() || m.total <= 0) return;
    int64_t most = 1;
    for (const NamedCount& count : counts) most = std::max(most, count.second);
    add(parent, "h3", fmt::format("Instructions: {}", m.total));
    HtmlTable table(parent, {"kind", "count", "share"});
    for (const auto& [kind, count] : counts) {
        pugi::xml_node row = table.add_row({text_cell(kind), number_cell(count)});
        const double percent = 100 * static_cast<double>(count) / static_cast<double>(m.total);
        table.add_bar_cell(row, {.text = fmt::format("{:.1f} %", percent), .sort_by = percent, .title = {}, .link = {}},
                           static_cast<double>(count) / static_cast<double>(most));
    }
    add(parent, "p",
        fmt::format("IMAD among them: {} MOV, {} SHL, {} IADD, {} WIDE, {} products.", m.imad_mov, m.imad_shl,
                    m.imad_iadd, m.imad_wide, m.imad),
        "faint");
}

void add_roles(pugi::xml_node parent, const Kernel& kernel) {
    if (kernel.roles.size() < 2) return;
    add(parent, "h3", "Roles, by setmaxnreg");
    HtmlTable table(parent, {"role", "registers", "from", "instructions", "spill B"});
    for (size_t i = 0; i < kernel.roles.size(); ++i) {
        const Role& role = kernel.roles[i];
        table.add_row({number_cell(static_cast<int64_t>(i)), number_cell(role.registers),
                       text_cell(fmt::format("{:#x}", role.begin)), number_cell(role.instructions),
                       pair_cell(role.spills, heat_of(bytes_of(role.spills), bytes_of(kernel.spills)))});
    }
}

// Those with the most spills, then the most instructions; in the order of the code.
std::vector<Loop> worst_loops(std::vector<Loop> loops) {
    if (loops.size() <= kMostLoops) return loops;
    std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
        return std::pair(bytes_of(a.spills), a.instructions) > std::pair(bytes_of(b.spills), b.instructions);
    });
    loops.resize(kMostLoops);
    std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.begin < b.begin; });
    return loops;
}

void add_loops(pugi::xml_node parent, const Kernel& kernel) {
    if (kernel.loops.empty()) return;
    const std::vector<Loop> loops = worst_loops(kernel.loops);
    add(parent, "h3",
        loops.size() == kernel.loops.size() ? fmt::format("Loops: {}", loops.size())
                                            : fmt::format("The {} of {} loops with the most spills and instructions",
                                                          loops.size(), kernel.loops.size()));
    HtmlTable table(parent, {"loop", "depth", "innermost", "instructions", "branches", "role", "spill B"});
    for (const Loop& loop : loops) {
        const bool has_role = loop.role >= 0 && kernel.roles.size() > 1;
        table.add_row({text_cell(fmt::format("{:#x} to {:#x}", loop.begin, loop.end)), number_cell(loop.depth),
                       text_cell(loop.innermost ? "yes" : "no"), number_cell(loop.instructions),
                       number_cell(loop.branches), text_cell(has_role ? fmt::format("{}", loop.role) : "-"),
                       pair_cell(loop.spills, heat_of(bytes_of(loop.spills), bytes_of(kernel.spills)))});
    }
}

}  // namespace

void add_kernel_details(pugi::xml_node parent, const ShownKernel& shown, bool is_open, SourceFiles& files) {
    const Kernel& kernel = *shown.kernel;
    pugi::xml_node block = add(parent, "details");
    if (is_open) set(block, "open", "open");
    pugi::xml_node summary = add(block, "summary");
    add(summary, "b", shown.name);
    std::string figures = fmt::format("{}, {}, {} registers", kernel.arch, kernel.assembler, kernel.registers);
    if (shown.run != nullptr)
        figures = fmt::format("{}, {}, {} {}", last_part(shown.run->ptx), figures, shown.run->options,
                              name_of(shown.run->route));
    if (bytes_of(kernel.spills) > 0)
        figures += ", spills " + pair_text(kernel.spills.store_bytes, kernel.spills.load_bytes) + " B";
    add(summary, "span", figures, kernel.serialisation == Serialisation::kNone ? "faint" : "bad");
    // Inside, because browsers unfold what a link into it names.
    pugi::xml_node inside = add(block, "div");
    set(inside, "id", shown.anchor);
    add_facts(inside, kernel);
    add_spill_lines(inside, kernel, files);
    pugi::xml_node side = add(inside, "div", {}, "side");
    pugi::xml_node code = add(side, "div");
    add_loops(code, kernel);
    add_roles(code, kernel);
    add_mix(add(side, "div"), kernel.mix);
}

}  // namespace jali::audit

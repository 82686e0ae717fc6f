#include "audit/html_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "audit/hot_spots.h"
#include "audit/html_page.h"
#include "audit/short_names.h"
#include "jali/audit_compare.h"

namespace jali::audit {
namespace {

constexpr size_t kNameWidth = 56;
constexpr int64_t kThreadsAWarp = 32;
constexpr size_t kPlacesShown = 24;
constexpr int64_t kLinesAround = 2;
constexpr size_t kLineWidth = 160;

int64_t bytes_of(const Traffic& traffic) {
    return traffic.store_bytes + traffic.load_bytes;
}

std::string pair_text(int64_t stores, int64_t loads) {
    return fmt::format("{}/{}", stores, loads);
}

const std::string& shown_name(const Kernel& kernel) {
    return kernel.demangled.empty() ? kernel.name : kernel.demangled;
}

// "24/240": what setmaxnreg sets; empty where it sets nothing.
std::string budgets_of(const Kernel& kernel) {
    std::string text;
    for (size_t i = 1; i < kernel.roles.size(); ++i)
        text += fmt::format("{}{}", text.empty() ? "" : "/", kernel.roles[i].registers);
    return text;
}

// What `share` of the largest is, so that small ones are seen too.
double heat_of(int64_t value, int64_t largest) {
    if (value <= 0 || largest <= 0) return 0;
    return 0.15 + 0.85 * static_cast<double>(value) / static_cast<double>(largest);
}

Cell pair_cell(const Traffic& traffic, double heat, bool is_estimate = false) {
    return {.text = (is_estimate ? "~" : "") + pair_text(traffic.store_bytes, traffic.load_bytes),
            .sort_by = static_cast<double>(bytes_of(traffic)),
            .heat = heat,
            .title = is_estimate ? "told by opcodes: the file lists no spills" : ""};
}

std::string counts_text(const std::vector<std::pair<const char*, int64_t>>& counts) {
    std::string text;
    for (const auto& [name, count] : counts)
        if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
    return text.empty() ? "none" : text;
}

std::string mix_text(const InstructionMix& m) {
    return counts_text({{"matrix", m.matrix},
                        {"TMA and async copies", m.async_copies},
                        {"MUFU", m.special},
                        {"shared", m.shared},
                        {"global", m.global},
                        {"local", m.local},
                        {"constant", m.constant},
                        {"tensor memory", m.tensor_memory},
                        {"barriers", m.barriers},
                        {"branches", m.branches},
                        {"moves", m.moves},
                        {"conversions", m.conversions},
                        {"floats", m.floats},
                        {"integers", m.integers},
                        {"predicates", m.predicates},
                        {"logic", m.logic},
                        {"others", m.others},
                        {"unknown", m.unknown}}) +
           "; IMAD: " +
           counts_text({{"MOV", m.imad_mov},
                        {"SHL", m.imad_shl},
                        {"IADD", m.imad_iadd},
                        {"WIDE", m.imad_wide},
                        {"products", m.imad}});
}

std::string distance_text(const LoadDistance& distance) {
    if (distance.loads == 0) return "none";
    return fmt::format("{}, the median {} instructions before what waits for it, {} under 8", distance.loads,
                       distance.median, distance.under_8);
}

void add_fact(pugi::xml_node list, const char* name, const std::string& text) {
    pugi::xml_node item = add(list, "li");
    add(item, "span", std::string(name) + ": ", "faint");
    add(item, "span", text);
}

void add_facts(pugi::xml_node parent, const Kernel& kernel) {
    pugi::xml_node list = add(parent, "ul");
    add_fact(list, "in", kernel.origin);
    add_fact(list, "by", kernel.assembler + (kernel.options.empty() ? "" : ", " + kernel.options));
    add_fact(list, "stack",
             fmt::format("{} B: local arrays {}, spill slots {}", kernel.stack_bytes, kernel.array_bytes,
                         kernel.spill_frame_bytes));
    add_fact(
        list, "shared memory",
        fmt::format("{} B static{}", kernel.static_shared_bytes,
                    kernel.dynamic_shared_bytes < 0 ? "" : fmt::format(", {} dynamic", kernel.dynamic_shared_bytes)));
    if (kernel.shared_spills != Traffic{}) {
        add_fact(list, "spills to shared memory",
                 pair_text(kernel.shared_spills.store_bytes, kernel.shared_spills.load_bytes) + " B");
    }
    add_fact(list, "barriers", fmt::format("{}", kernel.barriers));
    add_fact(list, "instructions", fmt::format("{} in {} B", kernel.mix.total, kernel.code_bytes));
    add_fact(list, "mix", mix_text(kernel.mix));
    add_fact(list, "global loads", distance_text(kernel.global_loads));
    add_fact(list, "shared loads", distance_text(kernel.shared_loads));
    for (const std::string& note : kernel.notes) add_fact(list, "note", note);
    add_fact(list, "code", "sha256 " + kernel.code_sha256);
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

void add_loops(pugi::xml_node parent, const Kernel& kernel) {
    if (kernel.loops.empty()) return;
    add(parent, "h3", "Loops");
    HtmlTable table(parent, {"loop", "depth", "innermost", "instructions", "branches", "role", "spill B"});
    for (const Loop& loop : kernel.loops) {
        const bool has_role = loop.role >= 0 && kernel.roles.size() > 1;
        table.add_row({text_cell(fmt::format("{:#x} to {:#x}", loop.begin, loop.end)), number_cell(loop.depth),
                       text_cell(loop.innermost ? "yes" : "no"), number_cell(loop.instructions),
                       number_cell(loop.branches), text_cell(has_role ? fmt::format("{}", loop.role) : "-"),
                       pair_cell(loop.spills, heat_of(bytes_of(loop.spills), bytes_of(kernel.spills)))});
    }
}

// The line and those around it, as hot as its share of the kernel's spills by depth.
void add_excerpt(pugi::xml_node parent, const Lines& lines, int64_t number, double heat) {
    pugi::xml_node block = add(parent, "pre");
    for (int64_t i = std::max<int64_t>(1, number - kLinesAround); i <= std::min(lines.count(), number + kLinesAround);
         ++i) {
        const std::string text = fmt::format("{:>6}  {}", i, lines.line(i).substr(0, kLineWidth));
        pugi::xml_node line = add(block, "span", text, i == number ? "heat" : nullptr);
        if (i == number) set(line, "style", fmt::format("--heat: {:.0f}%", 100 * heat));
    }
}

void add_places(pugi::xml_node parent, const Kernel& kernel, SourceFiles& files) {
    const std::vector<HotSpot> spots = hot_spots(kernel);
    if (spots.empty()) return;
    add(parent, "h3", "Where it spills, heaviest by loop depth first");
    std::optional<Lines> ptx;
    if (!kernel.ptx_text.empty()) ptx.emplace(kernel.ptx_text);
    const int64_t most = bytes_of(spots.front().weighted);
    for (size_t i = 0; i < std::min(spots.size(), kPlacesShown); ++i) {
        const HotSpot& spot = spots[i];
        const double heat = heat_of(bytes_of(spot.weighted), most);
        std::string text = fmt::format("{}: {} B in {} instructions", place_of(spot),
                                       pair_text(spot.spills.store_bytes, spot.spills.load_bytes),
                                       spot.spills.stores + spot.spills.loads);
        text += spot.loop_depth < 0 ? ", loop depth unknown" : fmt::format(", loop depth {}", spot.loop_depth);
        const std::string roles = roles_of(spot, kernel);
        if (!roles.empty()) text += ", " + roles;
        if (!spot.inlined.empty()) text += ", " + spot.inlined;
        pugi::xml_node line = add(add(parent, "div"), "span", text, "heat");
        set(line, "style", fmt::format("--heat: {:.0f}%", 100 * heat));
        const Lines* lines = spot.kind == LineKind::kPtx && ptx ? &*ptx : nullptr;
        if (spot.kind == LineKind::kSource) lines = files.find(spot.file);
        if (lines != nullptr) add_excerpt(parent, *lines, spot.line, heat);
    }
    if (spots.size() > kPlacesShown) add(parent, "p", fmt::format("and {} more places", spots.size() - kPlacesShown));
}

}  // namespace

void add_kernel_table(pugi::xml_node parent, const std::vector<const Kernel*>& kernels,
                      const std::vector<std::string>& device_names) {
    std::vector<std::string> heading = {"kernel",       "in",         "arch",       "assembler",     "registers",
                                        "threads",      "stack B",    "arrays B",   "spill slots B", "spill B",
                                        "spills",       "by depth B", "setmaxnreg", "wgmma",         "shared B",
                                        "instructions", "by depth",   "code B"};
    std::vector<Device> shown;
    for (const Device& device : devices()) {
        if (std::find(device_names.begin(), device_names.end(), device.name) == device_names.end()) continue;
        shown.push_back(device);
        heading.push_back("warps, " + device.name);
    }
    HtmlTable table(parent, heading);
    const std::vector<std::string> names = short_names(kernels, kNameWidth);
    int64_t most = 0, most_weighted = 0;
    for (const Kernel* kernel : kernels) {
        most = std::max(most, bytes_of(kernel->spills));
        most_weighted = std::max(most_weighted, bytes_of(kernel->spills_weighted));
    }
    for (size_t i = 0; i < kernels.size(); ++i) {
        const Kernel& kernel = *kernels[i];
        const double weighted = loop_weighted_instructions(kernel);
        const std::string budgets = budgets_of(kernel);
        const bool is_serialised = kernel.serialisation != Serialisation::kNone;
        Cell serial = text_cell(is_serialised ? fmt::format("serialised ({})", name_of(kernel.serialisation)) : "-");
        serial.heat = is_serialised ? 1 : 0;
        std::vector<Cell> cells = {
            text_cell(names[i], shown_name(kernel) + "\n" + kernel.origin),
            text_cell(kernel.origin.substr(kernel.origin.find_last_of('/') + 1), kernel.origin),
            text_cell(kernel.arch),
            text_cell(kernel.assembler),
            number_cell(kernel.registers),
            number_cell(kernel.threads_bound),
            number_cell(kernel.stack_bytes),
            number_cell(kernel.array_bytes),
            number_cell(kernel.spill_frame_bytes),
            pair_cell(kernel.spills, heat_of(bytes_of(kernel.spills), most),
                      kernel.spill_source == SpillSource::kOpcodes),
            {.text = pair_text(kernel.spills.stores, kernel.spills.loads),
             .sort_by = static_cast<double>(kernel.spills.stores + kernel.spills.loads),
             .title = {}},
            pair_cell(kernel.spills_weighted, heat_of(bytes_of(kernel.spills_weighted), most_weighted)),
            text_cell(budgets.empty() ? "-" : budgets),
            serial,
            number_cell(kernel.static_shared_bytes),
            number_cell(kernel.mix.total),
            {.text = fmt::format("{:.0f}", weighted), .sort_by = weighted, .title = {}},
            number_cell(kernel.code_bytes)};
        for (const Device& device : shown) {
            const std::optional<Occupancy> found = occupancy(kernel, device);
            cells.push_back(found ? Cell{.text = fmt::format("{}/{} {}", found->warps, device.threads / kThreadsAWarp,
                                                             found->limit),
                                         .sort_by = found->share,
                                         .title = {}}
                                  : Cell{.text = "-", .sort_by = -1, .title = {}});
        }
        table.add_row(cells);
    }
}

void add_kernel_details(pugi::xml_node parent, const Kernel& kernel, bool is_open, SourceFiles& files) {
    pugi::xml_node block = add(parent, "details");
    if (is_open) set(block, "open", "open");
    std::string summary = fmt::format("{} ({}, {} registers", shown_name(kernel), kernel.arch, kernel.registers);
    if (bytes_of(kernel.spills) > 0)
        summary += ", spills " + pair_text(kernel.spills.store_bytes, kernel.spills.load_bytes) + " B";
    add(block, "summary", summary + ")");
    add_facts(block, kernel);
    add_roles(block, kernel);
    add_loops(block, kernel);
    add_places(block, kernel, files);
}

}  // namespace jali::audit

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "audit/html_kernel.h"
#include "jali/audit_compare.h"

namespace jali::audit {
namespace {

// The largest of the table, which heat is measured against.
struct Largest {
    int64_t spills = 0, weighted = 0;
};

// A column; those of `can_go` are left out where every kernel has the same text.
struct Column {
    std::string heading;
    std::function<Cell(const ShownKernel&)> cell;
    bool can_go = false;
};

Cell serialisation_cell(const ShownKernel& shown) {
    const bool is_serialised = shown.kernel->serialisation != Serialisation::kNone;
    Cell cell = text_cell(is_serialised ? fmt::format("serialised ({})", name_of(shown.kernel->serialisation)) : "-");
    cell.heat = is_serialised ? 1 : 0;
    return cell;
}

Cell occupancy_cell(const Kernel& kernel, const Device& device) {
    const std::optional<Occupancy> found = occupancy(kernel, device);
    return {.text = occupancy_text(found, device), .sort_by = found ? found->share : -1, .title = {}, .link = {}};
}

std::string run_options(const ShownKernel& shown) {
    if (shown.run == nullptr) return "-";
    return shown.run->options + (shown.run->route == Route::kLinked ? ", linked" : "");
}

Column number_column(std::string heading, int64_t Kernel::*figure) {
    return {std::move(heading), [figure](const ShownKernel& shown) { return number_cell(shown.kernel->*figure); },
            true};
}

std::vector<Column> columns_of(const Largest& largest) {
    return {
        {"kernel",
         [](const ShownKernel& shown) {
             const std::string& full = full_name(*shown.kernel);
             return text_cell(shown.name, full == shown.name ? "" : full,
                              shown.anchor.empty() ? "" : "#" + shown.anchor);
         }},
        {"in",
         [](const ShownKernel& shown) {
             const std::string& origin = shown.kernel->origin;
             const std::string_view name = last_part(origin);
             return text_cell(std::string(name), name == origin ? "" : origin);
         },
         true},
        {"arch", [](const ShownKernel& shown) { return text_cell(shown.kernel->arch); }, true},
        {"assembler", [](const ShownKernel& shown) { return text_cell(shown.kernel->assembler); }, true},
        {"options", [](const ShownKernel& shown) { return text_cell(run_options(shown)); }, true},
        number_column("registers", &Kernel::registers),
        number_column("threads", &Kernel::threads_bound),
        number_column("stack B", &Kernel::stack_bytes),
        number_column("arrays B", &Kernel::array_bytes),
        number_column("spill slots B", &Kernel::spill_frame_bytes),
        {"spill B",
         [largest](const ShownKernel& shown) {
             return pair_cell(shown.kernel->spills, heat_of(bytes_of(shown.kernel->spills), largest.spills),
                              shown.kernel->spill_source == SpillSource::kOpcodes);
         }},
        {"spills",
         [](const ShownKernel& shown) {
             const Traffic& spills = shown.kernel->spills;
             return Cell{.text = pair_text(spills.stores, spills.loads),
                         .sort_by = static_cast<double>(spills.stores + spills.loads),
                         .title = {},
                         .link = {}};
         }},
        {"by depth B",
         [largest](const ShownKernel& shown) {
             const Traffic& weighted = shown.kernel->spills_weighted;
             return pair_cell(weighted, heat_of(bytes_of(weighted), largest.weighted));
         }},
        {"setmaxnreg", [](const ShownKernel& shown) { return text_cell(budgets_text(*shown.kernel)); }, true},
        {"wgmma", serialisation_cell, true},
        number_column("shared B", &Kernel::static_shared_bytes),
        {"instructions", [](const ShownKernel& shown) { return number_cell(shown.kernel->mix.total); }},
        {"by depth",
         [](const ShownKernel& shown) {
             const double weighted = loop_weighted_instructions(*shown.kernel);
             return Cell{.text = fmt::format("{:.0f}", weighted), .sort_by = weighted, .title = {}, .link = {}};
         }},
        number_column("code B", &Kernel::code_bytes),
    };
}

// Takes out the columns that say the same of every kernel, and says it.
void leave_out_shared(std::vector<Column>& columns, const std::vector<ShownKernel>& kernels, pugi::xml_node parent) {
    std::string said;
    std::erase_if(columns, [&](const Column& column) {
        if (!column.can_go || kernels.empty()) return false;
        const Cell cell = column.cell(kernels.front());
        if (cell.is_number && kernels.size() == 1) return false;
        const std::string& first = cell.text;
        const bool is_same = std::all_of(kernels.begin(), kernels.end(),
                                         [&](const ShownKernel& shown) { return column.cell(shown).text == first; });
        if (is_same && first != "-" && !first.empty())
            said += fmt::format("{}{} {}", said.empty() ? "All: " : ", ", column.heading, first);
        return is_same;
    });
    if (!said.empty()) add(parent, "p", said + ".", "faint");
}

}  // namespace

void add_kernel_table(pugi::xml_node parent, const std::vector<ShownKernel>& kernels,
                      const std::vector<std::string>& device_names) {
    Largest largest;
    for (const ShownKernel& shown : kernels) {
        largest.spills = std::max(largest.spills, bytes_of(shown.kernel->spills));
        largest.weighted = std::max(largest.weighted, bytes_of(shown.kernel->spills_weighted));
    }
    std::vector<Column> columns = columns_of(largest);
    leave_out_shared(columns, kernels, parent);
    for (const Device& device : devices_named(device_names)) {
        columns.push_back({"warps, " + device.name,
                           [device](const ShownKernel& shown) { return occupancy_cell(*shown.kernel, device); }});
    }
    add(parent, "p",
        "Pairs are stores/loads. By depth: each instruction times ten for every loop around it. Headings sort.",
        "faint");
    std::vector<std::string> heading;
    heading.reserve(columns.size());
    for (const Column& column : columns) heading.push_back(column.heading);
    HtmlTable table(parent, heading);
    for (const ShownKernel& shown : kernels) {
        std::vector<Cell> cells;
        cells.reserve(columns.size());
        for (const Column& column : columns) cells.push_back(column.cell(shown));
        table.add_row(cells);
    }
}

}  // namespace jali::audit

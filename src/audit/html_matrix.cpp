// PTX by assemblers and options as heat maps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "audit/html_kernel.h"
#include "audit/short_names.h"
#include "jali/audit_compare.h"

namespace jali::audit {
namespace {

constexpr size_t kNameWidth = 48;
constexpr size_t kMostRows = 2000;
// Colours of instructions are full at this share above the least, or more, so that a thousandth looks like one.
constexpr double kFullHeat = 0.1;

enum class Figure { kSpillBytes, kInstructions };

// What a row of the first map stands for.
using Tool = std::tuple<std::string, std::string, Route>;  // assembler, architecture, route
// What a column of the second one stands for.
using Way = std::pair<Tool, std::string>;  // and options
// What a row of the second one stands for: PTX and kernel; no kernel where nothing assembled.
using Subject = std::pair<std::string, std::string>;

// What stands in a cell: one kernel, or the sum of several.
struct Entry {
    Traffic spills;
    double instructions = 0;  // by depth
    int64_t kernels = 0, failures = 0;
    std::string message;  // of the first failure

    double value(Figure figure) const {
        return figure == Figure::kSpillBytes ? static_cast<double>(bytes_of(spills)) : instructions;
    }
    bool is_whole() const { return kernels > 0 && failures == 0; }
};

void count_kernel(Entry& entry, const Kernel& kernel) {
    entry.spills.store_bytes += kernel.spills.store_bytes;
    entry.spills.load_bytes += kernel.spills.load_bytes;
    entry.instructions += loop_weighted_instructions(kernel);
    ++entry.kernels;
}

void count_failure(Entry& entry, const std::string& message) {
    if (entry.failures++ == 0) entry.message = message;
}

// In the order that they were asked for.
template <typename T>
class Ordered {
   public:
    void add(const T& value) {
        if (seen_.insert(value).second) list_.push_back(value);
    }
    const std::vector<T>& list() const { return list_; }

   private:
    std::set<T> seen_;
    std::vector<T> list_;
};

struct Matrix {
    Ordered<Tool> tools;
    Ordered<std::string> options;
    Ordered<Way> ways;
    Ordered<Subject> subjects;
    std::map<Way, Entry> sums;
    std::map<std::pair<Subject, Way>, Entry> entries;
    std::map<std::string, std::string> names;  // of kernels
};

Way way_of(const Assembled& run) {
    return {{run.assembler, run.arch, run.route}, run.options};
}

Matrix matrix_of(const std::vector<Assembled>& assembled) {
    Matrix matrix;
    std::vector<const Kernel*> kernels;
    std::map<std::string, std::set<Subject>> of_ptx;
    for (const Assembled& run : assembled) {
        if (run.assembler.empty()) continue;  // of PTX that could not be read: among the problems
        const Way way = way_of(run);
        matrix.tools.add(way.first);
        matrix.options.add(way.second);
        matrix.ways.add(way);
        for (const Kernel& kernel : run.kernels) {
            const Subject subject = {run.ptx, kernel.name};
            if (matrix.names.emplace(kernel.name, "").second) kernels.push_back(&kernel);
            matrix.subjects.add(subject);
            of_ptx[run.ptx].insert(subject);
            count_kernel(matrix.sums[way], kernel);
            count_kernel(matrix.entries[{subject, way}], kernel);
        }
    }
    for (const Assembled& run : assembled) {
        if (run.assembler.empty() || run.succeeded) continue;
        if (of_ptx[run.ptx].empty()) {
            matrix.subjects.add({run.ptx, ""});
            of_ptx[run.ptx].insert({run.ptx, ""});
        }
        count_failure(matrix.sums[way_of(run)], run.message);
        for (const Subject& subject : of_ptx[run.ptx])
            count_failure(matrix.entries[{subject, way_of(run)}], run.message);
    }
    const std::vector<std::string> names = short_names(kernels, kNameWidth);
    for (size_t i = 0; i < kernels.size(); ++i) matrix.names[kernels[i]->name] = names[i];
    return matrix;
}

// Only what differs among them, besides the assembler.
std::string name_of_tool(const Tool& tool, const Matrix& matrix) {
    const auto& [assembler, arch, route] = tool;
    std::set<std::string> archs;
    std::set<Route> routes;
    for (const Tool& other : matrix.tools.list()) {
        archs.insert(std::get<1>(other));
        routes.insert(std::get<2>(other));
    }
    std::string text = assembler;
    if (archs.size() > 1) text += ", " + arch;
    if (routes.size() > 1) text += route == Route::kLinked ? ", linked" : ", direct";
    return text;
}

struct Range {
    double least = 1e300, most = 0;

    void include(const Entry& entry, Figure figure) {
        if (!entry.is_whole()) return;
        least = figure == Figure::kSpillBytes ? 0 : std::min(least, entry.value(figure));
        most = std::max(most, entry.value(figure));
    }
    double heat_of(double value) const {
        const double span = std::max(most - least, kFullHeat * least);
        return span > 0 ? (value - least) / span : 0;
    }
};

Cell entry_cell(const Entry& entry, Figure figure, const Range& range) {
    const double value = entry.value(figure);
    Cell cell = {.text = "-", .sort_by = value, .title = {}, .link = {}};
    if (entry.kernels > 0) {
        cell.text = figure == Figure::kSpillBytes ? pair_text(entry.spills.store_bytes, entry.spills.load_bytes)
                                                  : fmt::format("{:.0f}", value);
    } else {
        cell.sort_by = -1;
    }
    if (entry.failures > 0) {
        cell.text = entry.kernels > 0 ? fmt::format("{}, {} failed", cell.text, entry.failures) : "failed";
        cell.title = entry.message;
        cell.link = "#problems";
    } else if (entry.kernels > 0) {
        cell.heat = range.heat_of(value);
        if (figure == Figure::kInstructions && range.least > 0 && value > range.least)
            cell.title = fmt::format("{:+.1f} % against the least", 100 * (value / range.least - 1));
    }
    return cell;
}

const Entry& find_or_none(const auto& entries, const auto& key) {
    static const Entry none;
    const auto found = entries.find(key);
    return found == entries.end() ? none : found->second;
}

void add_grid(pugi::xml_node parent, const Matrix& matrix, Figure figure) {
    std::vector<std::string> heading = {"assembler"};
    for (const std::string& options : matrix.options.list())
        heading.push_back(options.empty() ? "no options" : options);
    Range range;
    for (const auto& [way, entry] : matrix.sums) range.include(entry, figure);
    HtmlTable table(parent, heading);
    for (const Tool& tool : matrix.tools.list()) {
        std::vector<Cell> cells = {text_cell(name_of_tool(tool, matrix))};
        for (const std::string& options : matrix.options.list())
            cells.push_back(entry_cell(find_or_none(matrix.sums, Way{tool, options}), figure, range));
        table.add_row(cells);
    }
}

void add_rows(pugi::xml_node parent, const Matrix& matrix, Figure figure) {
    std::vector<std::string> heading = {"kernel", "PTX"};
    for (const auto& [tool, options] : matrix.ways.list())
        heading.push_back(name_of_tool(tool, matrix) + (options.empty() ? "" : " " + options));
    HtmlTable table(parent, heading);
    const std::vector<Subject>& subjects = matrix.subjects.list();
    for (size_t i = 0; i < std::min(subjects.size(), kMostRows); ++i) {
        const auto& [ptx, name] = subjects[i];
        Range range;
        for (const Way& way : matrix.ways.list())
            range.include(find_or_none(matrix.entries, std::pair(subjects[i], way)), figure);
        const auto shown = matrix.names.find(name);
        std::vector<Cell> cells = {text_cell(shown == matrix.names.end() ? "-" : shown->second, name),
                                   text_cell(std::string(last_part(ptx)), ptx)};
        for (const Way& way : matrix.ways.list())
            cells.push_back(entry_cell(find_or_none(matrix.entries, std::pair(subjects[i], way)), figure, range));
        table.add_row(cells);
    }
    if (subjects.size() > kMostRows)
        add(parent, "p", fmt::format("The first {} of {} kernels.", kMostRows, subjects.size()), "faint");
}

void add_figure(pugi::xml_node parent, const Matrix& matrix, Figure figure, const char* title) {
    const size_t subjects = matrix.subjects.list().size();
    add(parent, "h2", title);
    add(parent, "p",
        figure == Figure::kSpillBytes
            ? "Coloured from none to the most."
            : fmt::format("Coloured from the least to {:.0f} % above it, or to the most.", 100 * kFullHeat),
        "faint");
    if (matrix.tools.list().size() > 1 || matrix.options.list().size() > 1) {
        add(parent, "p", subjects > 1 ? fmt::format("The sum of {} kernels.", subjects) : "From the least to the most.",
            "faint");
        add_grid(parent, matrix, figure);
    }
    if (subjects < 2) return;
    add(parent, "p", "Kernel by kernel, each row coloured by itself.", "faint");
    add_rows(parent, matrix, figure);
}

// What was put in the place of what the PTX says.
void add_altered(pugi::xml_node parent, const std::vector<Assembled>& assembled) {
    std::map<std::string, int64_t> altered;
    for (const Assembled& run : assembled) {
        if (!run.lowered_from.empty())
            ++altered[fmt::format("{}: .version {} lowered", run.assembler, run.lowered_from)];
        if (!run.retargeted_from.empty())
            ++altered[fmt::format("{}: .target {} replaced by {}", run.assembler, run.retargeted_from, run.arch)];
    }
    for (const auto& [what, times] : altered) add(parent, "p", fmt::format("{}, {} times.", what, times), "faint");
}

}  // namespace

void add_matrix(pugi::xml_node parent, const std::vector<Assembled>& assembled) {
    const Matrix matrix = matrix_of(assembled);
    if (matrix.ways.list().size() > 1) {
        add_figure(parent, matrix, Figure::kSpillBytes, "Spill bytes by assembler and option, stores/loads");
        add_figure(parent, matrix, Figure::kInstructions,
                   "Instructions by assembler and option, times ten for each loop around them");
    }
    add_altered(parent, assembled);
}

}  // namespace jali::audit

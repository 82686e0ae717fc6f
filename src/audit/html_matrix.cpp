// PTX by assemblers and options as heat maps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "audit/html_kernel.h"
#include "audit/html_page.h"
#include "audit/short_names.h"
#include "jali/audit_compare.h"

namespace jali::audit {
namespace {

constexpr size_t kNameWidth = 48;

// What a column stands for, in the order that it was asked for.
using Way = std::tuple<std::string, std::string, std::string, Route>;  // assembler, options, architecture, route
// What a row stands for: PTX and kernel.
using Subject = std::pair<std::string, std::string>;

struct Matrix {
    std::vector<Way> ways;
    std::vector<Subject> subjects;
    std::map<std::pair<Subject, Way>, const Kernel*> kernels;
    std::map<std::pair<std::string, Way>, const Assembled*> runs;
    std::map<std::string, std::string> names;  // of kernels
};

Way way_of(const Assembled& run) {
    return {run.assembler, run.options, run.arch, run.route};
}

template <typename T>
void add_new(std::vector<T>& list, const T& value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

Matrix matrix_of(const std::vector<Assembled>& assembled) {
    Matrix matrix;
    std::vector<const Kernel*> kernels;
    std::set<std::string> with_kernels;
    for (const Assembled& run : assembled) {
        if (run.assembler.empty()) continue;  // of PTX that could not be read: among the problems
        add_new(matrix.ways, way_of(run));
        matrix.runs[{run.ptx, way_of(run)}] = &run;
        for (const Kernel& kernel : run.kernels) {
            const Subject subject = {run.ptx, kernel.name};
            if (matrix.names.emplace(kernel.name, "").second) kernels.push_back(&kernel);
            add_new(matrix.subjects, subject);
            matrix.kernels[{subject, way_of(run)}] = &kernel;
            with_kernels.insert(run.ptx);
        }
    }
    for (const Assembled& run : assembled)
        if (!run.assembler.empty() && !with_kernels.contains(run.ptx)) add_new(matrix.subjects, Subject{run.ptx, ""});
    const std::vector<std::string> names = short_names(kernels, kNameWidth);
    for (size_t i = 0; i < kernels.size(); ++i) matrix.names[kernels[i]->name] = names[i];
    return matrix;
}

// Only what differs among the columns.
std::string name_of_way(const Way& way, const Matrix& matrix) {
    const auto& [assembler, options, arch, route] = way;
    std::set<std::string> archs;
    std::set<Route> routes;
    for (const Way& other : matrix.ways) {
        archs.insert(std::get<2>(other));
        routes.insert(std::get<3>(other));
    }
    std::string text = assembler + (options.empty() ? "" : " " + options);
    if (archs.size() > 1) text += " " + arch;
    if (routes.size() > 1) text += route == Route::kLinked ? " linked" : " direct";
    return text;
}

struct Figure {
    std::string text;
    double value = 0;
};

Figure spill_bytes(const Kernel& kernel) {
    return {fmt::format("{}/{}", kernel.spills.store_bytes, kernel.spills.load_bytes),
            static_cast<double>(kernel.spills.store_bytes + kernel.spills.load_bytes)};
}

Figure weighted_instructions(const Kernel& kernel) {
    const double weighted = loop_weighted_instructions(kernel);
    return {fmt::format("{:.0f}", weighted), weighted};
}

// Heat from the best of the row (none) to the worst; for spills from none at all.
void add_heat_map(pugi::xml_node parent, const Matrix& matrix, Figure (*figure_of)(const Kernel&), bool from_zero) {
    std::vector<std::string> heading = {"PTX", "kernel"};
    for (const Way& way : matrix.ways) heading.push_back(name_of_way(way, matrix));
    HtmlTable table(parent, heading);
    for (const Subject& subject : matrix.subjects) {
        double least = from_zero ? 0 : 1e300, most = 0;
        for (const Way& way : matrix.ways) {
            const auto found = matrix.kernels.find({subject, way});
            if (found == matrix.kernels.end()) continue;
            least = std::min(least, figure_of(*found->second).value);
            most = std::max(most, figure_of(*found->second).value);
        }
        const auto name = matrix.names.find(subject.second);
        std::vector<Cell> cells = {text_cell(subject.first.substr(subject.first.find_last_of('/') + 1), subject.first),
                                   text_cell(name == matrix.names.end() ? "-" : name->second, subject.second)};
        for (const Way& way : matrix.ways) {
            const auto found = matrix.kernels.find({subject, way});
            if (found == matrix.kernels.end()) {
                const auto run = matrix.runs.find({subject.first, way});
                const bool failed = run != matrix.runs.end() && !run->second->succeeded;
                cells.push_back(
                    {.text = failed ? "failed" : "-", .sort_by = -1, .title = failed ? run->second->message : ""});
                continue;
            }
            const Figure figure = figure_of(*found->second);
            const double heat = most > least ? (figure.value - least) / (most - least) : most > 0 && from_zero ? 1 : 0;
            cells.push_back({.text = figure.text, .sort_by = figure.value, .heat = heat, .title = {}});
        }
        table.add_row(cells);
    }
}

}  // namespace

void add_matrix(pugi::xml_node parent, const std::vector<Assembled>& assembled) {
    const Matrix matrix = matrix_of(assembled);
    if (matrix.ways.size() < 2) return;
    add(parent, "h2", "Spill bytes by assembler and option, stores/loads");
    add(parent, "p", "Hot against the worst of the row; no colour where nothing spills.", "faint");
    add_heat_map(parent, matrix, spill_bytes, true);
    add(parent, "h2", "Instructions by assembler and option, times ten for each loop around them");
    add(parent, "p", "From the best of the row to its worst.", "faint");
    add_heat_map(parent, matrix, weighted_instructions, false);
}

}  // namespace jali::audit

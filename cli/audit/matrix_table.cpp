#include "cli/audit/matrix_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "audit/short_names.h"
#include "audit/visible_text.h"
#include "cli/audit/kernel_table.h"
#include "cli/console.h"
#include "jali/audit_compare.h"

namespace jali::cli {

namespace {

using audit::Assembled;
using audit::Kernel;

constexpr size_t kNameWidth = 40;
constexpr const char* kFailed = "failed";

std::string option_name(const Assembled& run) {
    return run.options.empty() ? "(no option)" : audit::visible(run.options);
}

// One line of the matrix: everything but the options.
struct Line {
    std::string ptx, kernel, assembler, arch;
    audit::Route route = audit::Route::kDirect;

    friend bool operator<(const Line& a, const Line& b) {
        return std::tie(a.ptx, a.kernel, a.assembler, a.arch, a.route) <
               std::tie(b.ptx, b.kernel, b.assembler, b.arch, b.route);
    }
};

struct Matrix {
    std::vector<std::string> options;                          // the columns
    std::vector<Line> lines;                                   // in the order of the assemblies
    std::map<std::pair<Line, std::string>, const Kernel*> at;  // absent: failed
    std::map<std::string, std::string> names;                  // of kernels, short
    std::set<std::string> archs, ptx;
    std::set<audit::Route> routes;
};

// The kernels of each PTX, whatever assembled it: a failure is a row for every one of them.
std::map<std::string, std::vector<std::string>> kernels_by_ptx(const std::vector<Assembled>& assembled) {
    std::map<std::string, std::vector<std::string>> kernels;
    for (const Assembled& run : assembled) {
        std::vector<std::string>& names = kernels[run.ptx];
        for (const Kernel& kernel : run.kernels) {
            if (std::ranges::find(names, kernel.name) == names.end()) names.push_back(kernel.name);
        }
    }
    for (auto& [ptx, names] : kernels) {
        if (names.empty()) names.emplace_back();
    }
    return kernels;
}

void name_kernels(const std::vector<Assembled>& assembled, Matrix& matrix) {
    std::vector<const Kernel*> kernels;
    for (const Assembled& run : assembled) {
        for (const Kernel& kernel : run.kernels) {
            if (matrix.names.emplace(kernel.name, "").second) kernels.push_back(&kernel);
        }
    }
    const std::vector<std::string> names = audit::short_names(kernels, kNameWidth);
    for (size_t i = 0; i < kernels.size(); ++i) matrix.names[kernels[i]->name] = names[i];
    matrix.names[""] = "-";
}

Matrix matrix_of(const std::vector<Assembled>& assembled) {
    Matrix matrix;
    name_kernels(assembled, matrix);
    std::map<std::string, std::vector<std::string>> kernels = kernels_by_ptx(assembled);
    std::set<Line> seen;
    for (const Assembled& run : assembled) {
        if (run.assembler.empty()) continue;  // no PTX could be had of it: a problem, not a row
        const std::string options = option_name(run);
        if (std::ranges::find(matrix.options, options) == matrix.options.end()) matrix.options.push_back(options);
        matrix.archs.insert(run.arch);
        matrix.routes.insert(run.route);
        matrix.ptx.insert(run.ptx);
        for (const std::string& name : kernels[run.ptx]) {
            const Line line{run.ptx, name, run.assembler, run.arch, run.route};
            if (seen.insert(line).second) matrix.lines.push_back(line);
        }
        for (const Kernel& kernel : run.kernels) {
            matrix.at[{Line{run.ptx, kernel.name, run.assembler, run.arch, run.route}, options}] = &kernel;
        }
    }
    // Kernel by kernel, each with its assemblers in the order that was asked for.
    std::stable_sort(matrix.lines.begin(), matrix.lines.end(), [](const Line& a, const Line& b) {
        return std::tie(a.ptx, a.kernel, a.arch, a.route) < std::tie(b.ptx, b.kernel, b.arch, b.route);
    });
    return matrix;
}

std::string cell_of_spills(const Kernel& kernel) {
    const bool serialised = kernel.serialisation != audit::Serialisation::kNone;
    return spill_bytes_text(kernel) + (serialised ? " SERIAL" : "");
}

std::string cell_of_registers(const Kernel& kernel) {
    return group_digits(kernel.registers);
}

std::string cell_of_instructions(const Kernel& kernel) {
    return group_digits(std::llround(loop_weighted_instructions(kernel)));
}

std::string ptx_name(const std::string& ptx) {
    const size_t slash = ptx.substr(0, ptx.find('!')).find_last_of('/');
    return audit::visible(slash == std::string::npos ? ptx : ptx.substr(slash + 1));
}

std::string table_of(const Matrix& matrix, std::string (*cell_of)(const Kernel&)) {
    std::vector<std::string> heading = {"kernel"};
    if (matrix.ptx.size() > 1) heading.emplace_back("ptx");
    heading.emplace_back("ptxas");
    if (matrix.archs.size() > 1) heading.emplace_back("arch");
    if (matrix.routes.size() > 1) heading.emplace_back("route");
    heading.insert(heading.end(), matrix.options.begin(), matrix.options.end());
    Columns columns(heading);
    for (const Line& line : matrix.lines) {
        std::vector<std::string> cells = {matrix.names.at(line.kernel)};
        if (matrix.ptx.size() > 1) cells.push_back(ptx_name(line.ptx));
        cells.push_back(audit::visible(line.assembler));
        if (matrix.archs.size() > 1) cells.push_back(audit::visible(line.arch));
        if (matrix.routes.size() > 1) cells.emplace_back(line.route == audit::Route::kLinked ? "linked" : "ptxas");
        for (const std::string& options : matrix.options) {
            const auto found = matrix.at.find({line, options});
            cells.push_back(found == matrix.at.end() ? kFailed : cell_of(*found->second));
        }
        columns.add(std::move(cells));
    }
    return columns.text();
}

bool differs(const Matrix& matrix, std::string (*cell_of)(const Kernel&)) {
    std::map<std::string, std::set<std::string>> cells;
    for (const auto& [key, kernel] : matrix.at) cells[key.first.ptx + "\n" + kernel->name].insert(cell_of(*kernel));
    return std::ranges::any_of(cells, [](const auto& entry) { return entry.second.size() > 1; });
}

}  // namespace

bool is_matrix(const std::vector<Assembled>& assembled) {
    std::set<std::string> ptx;
    return std::ranges::any_of(
        assembled, [&](const Assembled& run) { return !run.assembler.empty() && !ptx.insert(run.ptx).second; });
}

std::string matrix_table(const std::vector<Assembled>& assembled) {
    const Matrix matrix = matrix_of(assembled);
    std::string text = "Spill bytes (stores/loads)\n" + table_of(matrix, cell_of_spills);
    if (differs(matrix, cell_of_registers)) text += "\nRegisters\n" + table_of(matrix, cell_of_registers);
    if (differs(matrix, cell_of_instructions)) {
        text += "\nInstructions weighted by loop depth\n" + table_of(matrix, cell_of_instructions);
    }
    return text;
}

std::string assembly_remarks(const std::vector<Assembled>& assembled) {
    // Each sentence with the files that it holds for.
    std::vector<std::pair<std::string, std::vector<std::string>>> remarks;
    const auto add = [&](const Assembled& run, const std::string& what) {
        const std::string sentence = fmt::format("ptxas {}: {}", audit::visible(run.assembler), what);
        auto remark = std::ranges::find(remarks, sentence, &std::pair<std::string, std::vector<std::string>>::first);
        if (remark == remarks.end()) remark = remarks.insert(remark, {sentence, {}});
        const std::string name = ptx_name(run.ptx);
        if (std::ranges::find(remark->second, name) == remark->second.end()) remark->second.push_back(name);
    };
    for (const Assembled& run : assembled) {
        if (!run.lowered_from.empty()) {
            add(run,
                fmt::format(".version {} is newer than it takes, and was lowered", audit::visible(run.lowered_from)));
        }
        if (!run.retargeted_from.empty()) {
            add(run, fmt::format(".target {} was replaced by {}", audit::visible(run.retargeted_from),
                                 audit::visible(run.arch)));
        }
        for (const std::string& warning : run.warnings) add(run, audit::visible(warning));
    }
    std::string text;
    for (const auto& [sentence, files] : remarks) {
        text += fmt::format("{} ({})\n", sentence,
                            files.size() == 1 ? files.front() : plural(std::ssize(files), "PTX file"));
    }
    return text;
}

}  // namespace jali::cli

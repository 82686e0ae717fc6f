// Which kernels a command speaks of: its PATHs, what of them is read, and what PTX is assembled with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jali/audit_report.h"

namespace CLI {
class App;
}

namespace jali::cli {

struct SourceOptions {
    std::string kernel;  // part of a name
    std::vector<std::string> archs;
    // What PTX is assembled with. Of options each text may hold several, with | between; of the others, with commas.
    std::vector<std::string> ptxas, options, routes;
    std::optional<int64_t> threads;
    std::optional<double> timeout_seconds;
    bool no_cache = false;
    bool keep_ptx_text = false;  // for what shows lines

    // Whether the command line asks for assemblers. PTX files are assembled without being asked too.
    bool assembles() const { return !ptxas.empty() || !options.empty() || !routes.empty(); }
};

// An option that comes as a list or several times. Its values may begin with a dash.
void add_list(CLI::App& command, const std::string& name, std::vector<std::string>& target, const std::string& type,
              const std::string& group, const std::string& description);
void add_source_options(CLI::App& command, SourceOptions& options);

// What was read and what was assembled.
struct Kernels {
    audit::Audit audit;
    std::vector<audit::Assembled> assembled;

    int64_t count() const;
};

// Reads the machine code of `paths`. PTX files are assembled, and so is the PTX of every path where the options ask
// for assemblers. Throws Error before any work where a path does not exist or options are wrong.
Kernels read_kernels(const std::vector<std::string>& paths, const SourceOptions& options);

// All as one audit: kernels of assemblies behind those that were read, failed assemblies as problems.
audit::Audit merged(Kernels kernels);

// The assembling that was asked for.
audit::AssembleOptions assemble_options(const SourceOptions& options);

// The parts of `text` between `separator`, without spaces around; empty ones left out.
std::vector<std::string> parts_of(const std::string& text, char separator);

}  // namespace jali::cli

// The matrix of PTX, assemblers, options, architectures and routes.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "audit/assembler/cache.h"
#include "audit/assembler/command_line.h"
#include "audit/assembler/ptx_header.h"
#include "audit/assembler/ptx_inputs.h"
#include "audit/assembler/ptxas_log.h"
#include "audit/assembler/run_variant.h"
#include "audit/assembler/version.h"
#include "jali/audit_assemble.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

// What one cell of the matrix is made from.
struct Cell {
    const PtxInput* input = nullptr;
    Variant variant;
    const std::string* options = nullptr;  // as the caller wrote them
    std::string arch;                      // as asked for; empty: the PTX's own
};

int usable_threads() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

void take_log(const std::string& text, Assembled& row) {
    const PtxasLog log = parse_ptxas_log(text);
    apply_log(log, row.kernels);
    row.reported = log.kernels;
    row.warnings.insert(row.warnings.end(), log.complaints.begin(), log.complaints.end());
    row.warnings.insert(row.warnings.end(), log.notes.begin(), log.notes.end());
}

// Fills the row, or throws what goes into its message.
void fill(const Cell& cell, const AssembleOptions& options, Assembled& row) {
    Variant variant = cell.variant;
    if (variant.assembler.ptxas.empty()) variant.assembler = find_assembler(variant.assembler.version);  // says why not
    PreparedPtx prepared = prepare_ptx(cell.input->text, cell.arch, variant.assembler.ptx_version);
    row.arch = variant.arch = prepared.arch;
    row.lowered_from = prepared.lowered_from;
    row.retargeted_from = prepared.retargeted_from;
    if (prepared.arch.empty()) throw Error("the PTX names no .target; say an architecture");
    if (variant.route == Route::kLinked && variant.assembler.nvlink.empty()) {
        throw Error("there is no nvlink beside '" + variant.assembler.ptxas.string() + "', nor a newer one");
    }

    const std::string key = options.use_cache ? cache_key(prepared.text, variant) : "";
    std::optional<CachedAssembly> assembly = options.use_cache ? load_cached(key) : std::nullopt;
    row.from_cache = assembly.has_value();
    if (!assembly) {
        Made made = run_variant(prepared.text, variant, options.timeout_seconds);
        row.milliseconds = made.assembly.milliseconds;
        if (!made.message.empty()) throw Error(made.message);
        assembly = std::move(made.assembly);
        if (options.use_cache) store_cached(key, *assembly);
    }
    row.milliseconds = assembly->milliseconds;
    ReadOptions read;
    read.name_contains = options.name_contains;
    row.kernels = read_cubin(assembly->cubin, cell.input->origin, read);
    for (Kernel& kernel : row.kernels) {
        kernel.ptx_text = options.keep_ptx_text ? prepared.text : std::string();
    }
    take_log(assembly->log, row);
    row.succeeded = true;
}

// The wheels of CUDA 12 carry no nvlink, and a newer one links what an older ptxas made.
Assembler with_nvlink(Assembler assembler, const std::vector<Assembler>& all) {
    if (!assembler.nvlink.empty()) return assembler;
    for (const Assembler& other : all) {  // newest first
        if (other.nvlink.empty() || is_older(other.version, assembler.version)) continue;
        assembler.nvlink = other.nvlink;
        assembler.sha256 += other.sha256;
        break;
    }
    return assembler;
}

std::vector<Cell> matrix(const std::vector<PtxInput>& inputs, const AssembleOptions& options) {
    const bool links = std::ranges::find(options.routes, Route::kLinked) != options.routes.end();
    std::vector<Assembler> found;
    if (options.assemblers.empty() || links) found = find_assemblers();
    std::vector<Assembler> assemblers = options.assemblers;
    if (assemblers.empty()) {
        if (found.empty()) throw Error("there is no ptxas here; `jali toolchain install 13` fetches one");
        assemblers = {found[0]};
    }
    std::vector<std::vector<std::string>> split;  // all before any assembler runs: a wrong one is said at once
    for (const std::string& text : options.options) split.push_back(split_options(text));
    const std::vector<std::string> archs = options.archs.empty() ? std::vector<std::string>{""} : options.archs;

    std::vector<Cell> cells;
    for (const PtxInput& input : inputs) {
        for (const Assembler& assembler : assemblers) {
            const Assembler linking = links ? with_nvlink(assembler, found) : assembler;
            for (size_t variant = 0; variant < split.size(); ++variant) {
                for (const std::string& arch : archs) {
                    for (const Route route : options.routes) {
                        const Assembler& used = route == Route::kLinked ? linking : assembler;
                        cells.push_back({&input,
                                         {used, split[variant], {}, route, options.line_tables},
                                         &options.options[variant],
                                         arch});
                    }
                }
            }
        }
    }
    return cells;
}

}  // namespace

std::vector<Assembled> assemble(const std::vector<fs::path>& paths, const AssembleOptions& options) {
    const PtxInputs collected = collect_ptx(paths);
    const std::vector<Cell> cells = matrix(collected.inputs, options);
    std::vector<Assembled> rows(cells.size());
    const auto all = static_cast<int64_t>(cells.size());
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    int64_t done = 0;
    std::exception_ptr trouble;

    const auto work = [&] {
        for (size_t i = next++; i < cells.size(); i = next++) {
            const Cell& cell = cells[i];
            Assembled& row = rows[i];
            row.ptx = cell.input->origin;
            row.assembler = cell.variant.assembler.version;
            row.options = *cell.options;
            row.route = cell.variant.route;
            try {
                fill(cell, options, row);
            } catch (const std::exception& error) {
                row.message = error.what();
            }
            const std::lock_guard lock(mutex);
            ++done;
            if (!options.progress || trouble) continue;
            try {
                options.progress(done, all);
            } catch (...) {
                trouble = std::current_exception();
                next = cells.size();
            }
        }
    };
    const int64_t wanted = options.threads > 0 ? options.threads : usable_threads();
    std::vector<std::thread> threads;
    for (int64_t i = 1; i < std::min(wanted, all); ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    if (trouble) std::rethrow_exception(trouble);
    if (options.use_cache) shrink_cache(kCacheLimitBytes);
    for (const Problem& problem : collected.problems) {
        Assembled& row = rows.emplace_back();
        row.ptx = problem.origin;
        row.message = problem.sentence;
    }
    return rows;
}

}  // namespace jali::audit

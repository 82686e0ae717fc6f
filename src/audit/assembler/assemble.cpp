// The matrix of PTX and of all that it is assembled with.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "audit/assembler/cache.h"
#include "audit/assembler/ptx_header.h"
#include "audit/assembler/ptx_inputs.h"
#include "audit/assembler/ptxas_log.h"
#include "audit/assembler/run_variant.h"
#include "audit/assembler/ways.h"
#include "jali/audit_assemble.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

int64_t usable_threads() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// From the cache, or made and put there.
CachedAssembly assembly_of(const std::string& ptx, const Variant& variant, const AssembleOptions& options,
                           Assembled& row) {
    const std::string key = options.use_cache ? cache_key(ptx, variant) : "";
    if (options.use_cache) {
        if (auto cached = load_cached(key)) {
            row.from_cache = true;
            return std::move(*cached);
        }
    }
    Made made = run_variant(ptx, variant, options.timeout_seconds);
    row.milliseconds = made.assembly.milliseconds;
    if (!made.message.empty()) throw Error(made.message);
    if (options.use_cache) store_cached(key, made.assembly);
    return std::move(made.assembly);
}

void take_log(const std::string& text, Assembled& row) {
    const PtxasLog log = parse_ptxas_log(text);
    apply_log(log, row.kernels);
    row.reported = log.kernels;
    row.warnings.insert(row.warnings.end(), log.complaints.begin(), log.complaints.end());
    row.warnings.insert(row.warnings.end(), log.notes.begin(), log.notes.end());
}

// Fills the row, or throws what goes into its message.
void fill(const PtxInput& input, const Way& way, const AssembleOptions& options, Assembled& row) {
    Variant variant = way.variant;
    if (!way.failure.empty()) throw Error(way.failure);
    const PreparedPtx prepared = prepare_ptx(input.text, variant.arch, variant.assembler.ptx_version);
    row.arch = variant.arch = prepared.arch;
    row.lowered_from = prepared.lowered_from;
    row.retargeted_from = prepared.retargeted_from;
    if (prepared.arch.empty()) throw Error("the PTX names no .target; say an architecture");

    const CachedAssembly assembly = assembly_of(prepared.text, variant, options, row);
    row.milliseconds = assembly.milliseconds;
    if (!way.remark.empty()) row.warnings.push_back(way.remark);
    ReadOptions read;
    read.name_contains = options.name_contains;
    row.kernels = read_cubin(assembly.cubin, input.origin, read);
    for (Kernel& kernel : row.kernels) kernel.ptx_text = options.keep_ptx_text ? prepared.text : std::string();
    take_log(assembly.log, row);
    row.succeeded = true;
}

// Counts rows, and calls back from one thread at a time.
class Report {
   public:
    Report(const AssembleOptions& options, size_t all) : options_(options), all_(static_cast<int64_t>(all)) {}

    // False once the callback has thrown: the work is to end.
    bool row_done() {
        const std::lock_guard lock(mutex_);
        ++done_;
        try {
            if (options_.progress && !trouble_) options_.progress(done_, all_);
        } catch (...) {
            trouble_ = std::current_exception();
        }
        return !trouble_;
    }
    void rethrow() const {
        if (trouble_) std::rethrow_exception(trouble_);
    }

   private:
    const AssembleOptions& options_;
    int64_t all_ = 0, done_ = 0;
    std::mutex mutex_;
    std::exception_ptr trouble_;
};

}  // namespace

std::vector<Assembled> assemble(const std::vector<fs::path>& paths, const AssembleOptions& options) {
    const std::vector<Way> ways = ways_of(options);
    const PtxInputs collected = collect_ptx(paths);
    std::vector<Assembled> rows(collected.inputs.size() * ways.size());
    Report report(options, rows.size());
    std::atomic<size_t> next = 0;
    const auto work = [&] {
        for (size_t i = next++; i < rows.size(); i = next++) {
            const PtxInput& input = collected.inputs[i / ways.size()];
            const Way& way = ways[i % ways.size()];
            Assembled& row = rows[i];
            row.ptx = input.origin;
            row.assembler = way.variant.assembler.version;
            row.options = way.options;
            row.arch = way.variant.arch;
            row.route = way.variant.route;
            try {
                fill(input, way, options, row);
            } catch (const std::exception& error) {
                row.message = error.what();
            }
            if (!report.row_done()) next = rows.size();
        }
    };
    const int64_t wanted = options.threads > 0 ? options.threads : usable_threads();
    std::vector<std::thread> threads;
    for (int64_t i = 1; i < std::min(wanted, static_cast<int64_t>(rows.size())); ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    report.rethrow();
    if (options.use_cache) shrink_cache(kCacheLimitBytes);

    for (const Problem& problem : collected.problems) {
        Assembled& row = rows.emplace_back();
        row.ptx = problem.origin;
        row.message = problem.sentence;
    }
    return rows;
}

}  // namespace jali::audit

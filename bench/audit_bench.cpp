// Reading a shared library of 10,000 kernels, and one cubin.
//
//     ./dev bench audit
//
// Counters: `figure_s` and `figure_MiB` are what time and peak memory must stay under. The library is made with the
// newest assembler that is found, in TMPDIR (about 1 GB), and removed at the end.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "bench/audit/made_library.h"
#include "jali/audit.h"
#include "jali/audit_assemble.h"

namespace {

using namespace jali;

// The largest resident memory since the last reset, in KiB. Linux only, as is the rest.
int64_t peak_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        int64_t value = 0;
        if (word == "VmHWM:" && status >> value) return value;
    }
    return 0;
}
void reset_peak() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;
}

const std::vector<bench::Bytes>& cubins() {
    static const std::vector<bench::Bytes> made = [] {
        const std::vector<audit::Assembler> assemblers = audit::find_assemblers();
        if (assemblers.empty()) throw std::runtime_error("no assembler is found");
        return bench::assemble_cubins(assemblers.front().ptxas, {});
    }();
    return made;
}

class Library {
   public:
    explicit Library(bool compressed)
        : path_(std::filesystem::temp_directory_path() / ("jali-made-library-" + std::to_string(::getpid()) + ".so")) {
        bytes_ = bench::write_library(path_, cubins(), {.compressed = compressed});
    }
    ~Library() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    const std::filesystem::path& path() const { return path_; }
    int64_t bytes() const { return bytes_; }

   private:
    std::filesystem::path path_;
    int64_t bytes_ = 0;
};

// Arguments: zstd or not, threads.
void read_library(benchmark::State& state) {
    const Library library(state.range(0) != 0);
    size_t kernels = 0;
    reset_peak();
    for (auto _ : state) {
        const audit::Audit audit = audit::read(library.path(), {.threads = state.range(1)});
        kernels = audit.kernels.size();
        if (!audit.problems.empty()) state.SkipWithError(audit.problems.front().sentence.c_str());
    }
    state.counters["kernels"] = static_cast<double>(kernels);
    state.counters["file_MB"] = static_cast<double>(library.bytes()) * 1e-6;
    state.counters["peak_MiB"] = static_cast<double>(peak_kib()) / 1024;
    state.counters["figure_s"] = 60;
    state.counters["figure_MiB"] = 1024;
}

void read_one_cubin(benchmark::State& state) {
    const bench::Bytes& cubin = cubins().front();
    for (auto _ : state) benchmark::DoNotOptimize(audit::read_cubin(cubin, "made.cubin"));
    state.counters["kB"] = static_cast<double>(cubin.size()) * 1e-3;
    state.counters["figure_ms"] = 20;
}

BENCHMARK(read_library)
    ->ArgNames({"zstd", "threads"})
    ->ArgsProduct({{0, 1}, {1, 2}})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kSecond);
BENCHMARK(read_one_cubin)->Unit(benchmark::kMillisecond);

}  // namespace

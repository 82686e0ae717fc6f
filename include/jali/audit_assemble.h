// PTX under any list of assemblers and options.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

// --- Assemblers ---

// An assembler of NVIDIA's that is on this machine. Jali calls it and never carries it.
struct Assembler {
    std::string version;      // "13.0.88"
    std::string ptx_version;  // the newest PTX that it takes, "9.0"; empty where it does not say
    std::filesystem::path ptxas;
    std::filesystem::path nvlink;  // beside it; empty where there is none
    std::string sha256;            // of ptxas and nvlink: what cached results are known by
    bool installed_by_us = false;  // with install_assembler
    bool altered = false;          // installed by us, and no longer the bytes that were: see check_installed()
};

// $JALI_PTXAS (files or folders, with colons between), PATH, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda*, and the user's
// cache; newest first, each version once, the first place counting. What does not run as an assembler is left out.
std::vector<Assembler> find_assemblers();
// By exact version or its beginning ("13.0": the newest of those), or the path of a ptxas; throws Error naming what
// there is and how to install.
Assembler find_assembler(const std::string& version);

// Fetches the package that holds the assembler with pip, as the user has configured it, into the user's cache, and
// records the hash. `version` is exact or a beginning ("12.8": the newest of those). Two at once wait for each other;
// an interrupted one leaves nothing. `progress` is told what is being done and the bytes fetched so far. Throws Error
// with pip's own words.
using InstallProgress = std::function<void(std::string_view step, int64_t bytes)>;
Assembler install_assembler(const std::string& version, const InstallProgress& progress = {});
// Those of install_assembler(), each compared with its recorded hash.
std::vector<Assembler> check_installed();
// By exact version, or a beginning that one alone has. Throws Error where it was not installed by us. Returns what it
// removed.
Assembler remove_assembler(const std::string& version);

// $JALI_CACHE, else $XDG_CACHE_HOME/jali, else ~/.cache/jali.
std::filesystem::path cache_folder();
// What assemble() keeps there: at most 2 GiB, the longest unused leaving first.
struct CacheUse {
    int64_t results = 0, bytes = 0;
};
CacheUse assembly_cache_use();
CacheUse clear_assembly_cache();  // returns what there was

// --- Assembling ---

enum class Route {
    kDirect,  // ptxas
    kLinked,  // ptxas -c, then nvlink
};
std::string_view name_of(Route route);  // "ptxas", "ptxas -c + nvlink"

struct AssembleOptions {
    // Empty: the newest found. One with a version alone is looked for, and its rows fail where there is none.
    std::vector<Assembler> assemblers;
    std::vector<std::string> options = {"-O3"};  // one option string a variant, split as a shell does
    std::vector<std::string> archs;              // empty: the target that the PTX names
    std::vector<Route> routes = {Route::kDirect};
    // Adds -lineinfo, so that spills have PTX lines; the machine code is the same.
    bool line_tables = true;
    int64_t threads = 0;           // 0: as many as the process may use
    double timeout_seconds = 600;  // of one assembly
    bool use_cache = true;
    std::string name_contains;
    bool keep_ptx_text = false;
    std::function<void(int64_t done, int64_t all)> progress;  // from one thread at a time
};

// What `ptxas -v` prints of a kernel: its own figures, to hold others to.
struct ReportedKernel {
    std::string name;
    int64_t registers = -1;  // -1: not printed
    int64_t stack_bytes = -1, spill_store_bytes = -1, spill_load_bytes = -1;
    int64_t barriers = -1;
    std::vector<std::string> notes;  // "C7510: Potential Performance Loss: ..."
};

// One run of an assembler on one PTX file.
struct Assembled {
    std::string ptx;        // path, or the origin inside of an archive
    std::string assembler;  // version
    std::string options, arch;
    Route route = Route::kDirect;
    bool succeeded = false;
    bool from_cache = false;
    std::string lowered_from;     // the .version that the PTX names, where the assembler's newest was put in its place
    std::string retargeted_from;  // the .target that the PTX names, where `arch` was put in its place
    std::string message;          // the assembler's own words where it failed, or a time-out
    std::vector<std::string> warnings;
    double milliseconds = 0;  // of the assembler when it ran
    std::vector<Kernel> kernels;
    std::vector<ReportedKernel> reported;  // of the direct route, and of ptxas in the linked one
};

// Every PTX by every assembler, option string, architecture and route, in that order of nesting. A failure is a row
// with succeeded == false; so is, at the end and without an assembler, what could not be read on the way to its PTX.
// `paths` are PTX files, or folders, wheels and binaries that hold PTX. Throws Error where there is no PTX, no
// assembler, or an option that is not the caller's to give.
std::vector<Assembled> assemble(const std::vector<std::filesystem::path>& paths, const AssembleOptions& options);

}  // namespace jali::audit

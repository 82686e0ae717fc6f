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

// An assembler of NVIDIA's that is on this machine. Jali calls it and never carries it.
struct Assembler {
    std::string version;      // "13.0.88"
    std::string ptx_version;  // the newest PTX that it takes, "9.0"; empty where not known before it runs
    std::filesystem::path ptxas;
    std::filesystem::path nvlink;  // empty where there is none
    bool installed_by_us = false;  // with install_assembler
};

// $JALI_PTXAS, PATH, $CUDA_HOME, /usr/local/cuda*, and the user's cache; newest first, each version once.
std::vector<Assembler> find_assemblers();
// By exact version or its beginning ("13.0"); throws Error naming what there is and how to install.
Assembler find_assembler(const std::string& version);

// Fetches the package that holds the assembler with pip, as the user has configured it, into the user's cache
// ($JALI_CACHE, else $XDG_CACHE_HOME/jali, else ~/.cache/jali), and records its hash. Throws Error with pip's own
// words.
Assembler install_assembler(const std::string& version);
void remove_assembler(const std::string& version);
std::filesystem::path cache_folder();

enum class Route {
    kDirect,  // ptxas
    kLinked,  // ptxas -c, then nvlink
};
std::string_view name_of(Route route);  // "ptxas", "ptxas -c + nvlink"

struct AssembleOptions {
    std::vector<Assembler> assemblers;           // empty: the newest found
    std::vector<std::string> options = {"-O3"};  // one option string a variant
    std::vector<std::string> archs;              // empty: the target that the PTX names
    std::vector<Route> routes = {Route::kDirect};
    int64_t threads = 0;            // 0: as many as the process may use
    int64_t timeout_seconds = 600;  // of one assembly
    bool use_cache = true;
    std::string name_contains;
    bool keep_ptx_text = false;
    std::function<void(int64_t done, int64_t all)> progress;  // from one thread at a time
};

// One run of an assembler on one PTX file.
struct Assembled {
    std::string ptx;        // path, or the origin inside of an archive
    std::string assembler;  // version
    std::string options, arch;
    Route route = Route::kDirect;
    bool succeeded = false;
    bool from_cache = false;
    std::string lowered_from;  // the .version that the PTX names, where a lower one was put in its place
    std::string message;       // the assembler's own words where it failed, or a time-out
    double milliseconds = 0;   // of the assembler when it ran
    std::vector<Kernel> kernels;
};

// Every PTX by every assembler, option string, architecture and route, in that order of nesting. A failure is a row
// with succeeded == false. `paths` are PTX files, or folders, wheels and binaries that hold PTX. Throws Error where
// there is no PTX or no assembler.
std::vector<Assembled> assemble(const std::vector<std::filesystem::path>& paths, const AssembleOptions& options);

}  // namespace jali::audit

// Where assemblers are found, and by which words.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "audit/assembler/installed.h"
#include "audit/assembler/toolchain_probe.h"
#include "audit/assembler/version.h"
#include "jali/audit_assemble.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> path_list(const char* variable) {
    std::vector<fs::path> paths;
    const char* value = std::getenv(variable);
    std::istringstream list(value == nullptr ? "" : value);
    for (std::string path; std::getline(list, path, ':');) {
        if (!path.empty()) paths.emplace_back(path);
    }
    return paths;
}

// The ptxas that a folder or file of $JALI_PTXAS means.
fs::path ptxas_of(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return path;
    return fs::exists(path / "bin" / "ptxas", error) ? path / "bin" / "ptxas" : path / "ptxas";
}

// In the order in which they count.
std::vector<fs::path> places() {
    std::vector<fs::path> ptxas;
    for (const fs::path& path : path_list("JALI_PTXAS")) ptxas.push_back(ptxas_of(path));
    for (const fs::path& folder : path_list("PATH")) ptxas.push_back(folder / "ptxas");
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        for (const fs::path& home : path_list(variable)) ptxas.push_back(home / "bin" / "ptxas");
    }
    std::set<fs::path> homes;
    std::error_code error;
    for (fs::directory_iterator entry("/usr/local", error), end; !error && entry != end; entry.increment(error)) {
        if (entry->path().filename().string().starts_with("cuda")) homes.insert(entry->path());
    }
    for (const fs::path& home : homes) ptxas.push_back(home / "bin" / "ptxas");
    return ptxas;
}

std::string versions_of(const std::vector<Assembler>& assemblers) {
    std::string text;
    for (const Assembler& assembler : assemblers) text += (text.empty() ? "" : ", ") + assembler.version;
    return text;
}

}  // namespace

std::vector<Assembler> find_assemblers() {
    std::vector<Assembler> found;
    const auto add = [&](const Assembler& assembler) {
        const bool known =
            std::ranges::any_of(found, [&](const Assembler& other) { return other.version == assembler.version; });
        if (!known) found.push_back(assembler);
    };
    std::set<fs::path> seen;  // one file by several names is asked once
    for (const fs::path& ptxas : places()) {
        std::error_code error;
        const fs::path file = fs::canonical(ptxas, error);
        if (error || !seen.insert(file).second) continue;
        if (const auto assembler = probe(file)) add(*assembler);
    }
    for (const Assembler& assembler : installed_assemblers()) add(assembler);
    std::ranges::stable_sort(
        found, [](const Assembler& one, const Assembler& other) { return is_older(other.version, one.version); });
    return found;
}

Assembler find_assembler(const std::string& version) {
    if (version.find('/') != std::string::npos) {
        if (auto assembler = probe(ptxas_of(version))) return *assembler;
        throw Error("'" + version + "' is no ptxas that runs here");
    }
    const std::vector<Assembler> all = find_assemblers();  // newest first
    for (const Assembler& assembler : all) {
        if (begins_version(version, assembler.version)) return assembler;
    }
    throw Error("there is no ptxas " + version + " here (" +
                (all.empty() ? "nor any other" : "but " + versions_of(all)) + "); `jali toolchain install " +
                (is_version(version) ? version : "VERSION") + "` fetches one");
}

}  // namespace jali::audit

#include "audit/assembler/toolchain_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "audit/assembler/process.h"
#include "audit/assembler/temporary_folder.h"
#include "audit/assembler/version.h"
#include "audit/sha256.h"
#include "io/atomic_file.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kProbeSeconds = 30;

// Changes whenever the file does, as far as anybody can tell without reading it.
std::string fingerprint(const fs::path& path) {
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) return "-";
    return path.string() + "|" + std::to_string(status.st_size) + "|" + std::to_string(status.st_mtim.tv_sec) + "." +
           std::to_string(status.st_mtim.tv_nsec) + "|" + std::to_string(status.st_ctim.tv_sec) + "." +
           std::to_string(status.st_ctim.tv_nsec) + "|" + std::to_string(status.st_ino);
}

fs::path memory_path() {
    return cache_folder() / "assemblers.json";
}

Json remembered() {
    try {
        std::ifstream file(memory_path());
        Json json = Json::parse(file, nullptr, false);
        return json.is_object() ? json : Json::object();
    } catch (const Error&) {
        return Json::object();  // there is no cache folder
    }
}

std::optional<Assembler> recall(const std::string& key, const fs::path& ptxas, const fs::path& nvlink) {
    const Json memory = remembered();
    const auto entry = memory.find(key);
    if (entry == memory.end() || !entry->is_object()) return std::nullopt;
    const auto text = [&](const char* name) { return entry->contains(name) && (*entry)[name].is_string(); };
    if (!text("version") || !text("ptx_version") || !text("sha256")) return std::nullopt;
    Assembler assembler;
    assembler.version = (*entry)["version"];
    assembler.ptx_version = (*entry)["ptx_version"];
    assembler.sha256 = (*entry)["sha256"];
    assembler.ptxas = ptxas;
    assembler.nvlink = nvlink;
    return assembler;
}

void remember(const std::string& key, const Assembler& assembler) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    try {
        // Another process may write at the same time: then one of them asks again next time.
        Json memory = remembered();
        constexpr size_t kMostEntries = 200;
        if (memory.size() >= kMostEntries) memory = Json::object();
        memory[key] = {
            {"version", assembler.version}, {"ptx_version", assembler.ptx_version}, {"sha256", assembler.sha256}};
        fs::create_directories(cache_folder());
        io::write_file(memory_path(), memory.dump(1) + "\n");
    } catch (const std::exception&) {
        // It is asked again next time.
    }
}

// The newest PTX that it takes is in its complaint about one that is newer than any.
std::string newest_ptx(const fs::path& ptxas) {
    const TemporaryFolder folder;
    const fs::path ptx = folder.path() / "probe.ptx";
    io::write_file(ptx, std::string_view(".version 99.9\n.target sm_80\n.address_size 64\n"));
    const ProcessResult result = run_process(
        {{ptxas.string(), ptx.string(), "-o", (folder.path() / "probe.cubin").string()}, {}, {}, kProbeSeconds, {}});
    return version_after(result.output, "current version is '");
}

}  // namespace

std::string sha256_of_tools(const std::string& ptxas_sha256, const std::string& nvlink_sha256) {
    return nvlink_sha256.empty() ? ptxas_sha256 : sha256(ptxas_sha256 + nvlink_sha256);
}

std::optional<Assembler> probe(const fs::path& path) {
    std::error_code error;
    const fs::path ptxas = fs::absolute(path, error).lexically_normal();
    if (error || !fs::is_regular_file(ptxas, error) || access(ptxas.c_str(), X_OK) != 0) return std::nullopt;
    fs::path nvlink = ptxas.parent_path() / "nvlink";
    if (access(nvlink.c_str(), X_OK) != 0) nvlink.clear();
    const std::string key = fingerprint(ptxas) + " " + fingerprint(nvlink);
    if (auto known = recall(key, ptxas, nvlink)) return known;
    try {
        const ProcessResult result = run_process({{ptxas.string(), "--version"}, {}, {}, kProbeSeconds, {}});
        Assembler assembler;
        assembler.version = version_after(result.output, ", V");
        if (!result.succeeded() || assembler.version.empty()) return std::nullopt;
        assembler.ptx_version = newest_ptx(ptxas);
        assembler.ptxas = ptxas;
        assembler.nvlink = nvlink;
        assembler.sha256 = sha256_of_tools(sha256_of_file(ptxas), nvlink.empty() ? "" : sha256_of_file(nvlink));
        remember(key, assembler);
        return assembler;
    } catch (const Error&) {
        return std::nullopt;  // does not start here: another machine's, or not readable
    }
}

}  // namespace jali::audit

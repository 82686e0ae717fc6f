#include "audit/assembler/installed.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "audit/assembler/toolchain_probe.h"
#include "audit/assembler/version.h"
#include "audit/sha256.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The hashes that were recorded; nothing where there is no record.
struct Record {
    std::string ptxas_sha256;
    std::string nvlink_sha256;  // empty: it was not in the wheel
};
std::optional<Record> read_record(const fs::path& folder) {
    std::ifstream file(folder / kToolchainRecord);
    const Json json = Json::parse(file, nullptr, false);
    const Json files = json.is_object() ? json.value("files", Json::object()) : Json::object();
    const auto hash = [&](const char* name) {
        const bool there = files.is_object() && files.contains(name) && files[name].is_string();
        return there ? files[name].get<std::string>() : std::string();
    };
    const Record record{hash("ptxas"), hash("nvlink")};
    if (record.ptxas_sha256.empty()) return std::nullopt;
    return record;
}

bool is_as_installed(const fs::path& folder) {
    try {
        const std::optional<Record> record = read_record(folder);
        return record && sha256_of_file(folder / "ptxas") == record->ptxas_sha256 &&
               (record->nvlink_sha256.empty() || sha256_of_file(folder / "nvlink") == record->nvlink_sha256);
    } catch (const FileError&) {
        return false;
    }
}

std::vector<fs::path> version_folders() {
    std::vector<fs::path> folders;
    std::error_code error;
    for (fs::directory_iterator entry(toolchains_folder(), error), end; !error && entry != end;
         entry.increment(error)) {
        // Others are unfinished installations and the lock.
        if (is_version(entry->path().filename().string())) folders.push_back(entry->path());
    }
    std::ranges::sort(folders, [](const fs::path& one, const fs::path& other) {
        return is_older(other.filename().string(), one.filename().string());
    });
    return folders;
}

}  // namespace

fs::path toolchains_folder() {
    return cache_folder() / "toolchains";
}

ToolchainsLock::ToolchainsLock(const std::function<void()>& waiting) {
    std::error_code error;
    fs::create_directories(toolchains_folder(), error);
    const fs::path path = toolchains_folder() / ".lock";
    descriptor_ = error ? -1 : open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) {
        const std::string reason = error ? error.message() : std::strerror(errno);
        throw FileError("cannot write in '" + toolchains_folder().string() + "': " + reason);
    }
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    if (waiting) waiting();
    while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
}

ToolchainsLock::~ToolchainsLock() {
    close(descriptor_);
}

std::vector<Assembler> installed_assemblers() {
    std::vector<Assembler> found;
    for (const fs::path& folder : version_folders()) {
        const std::optional<Record> record = read_record(folder);
        auto assembler = record ? probe(folder / "ptxas") : std::nullopt;
        if (!assembler || assembler->sha256 != sha256_of_tools(record->ptxas_sha256, record->nvlink_sha256)) continue;
        assembler->installed_by_us = true;
        found.push_back(*assembler);
    }
    return found;
}

std::vector<Assembler> check_installed() {
    std::vector<Assembler> found;
    for (const fs::path& folder : version_folders()) {
        Assembler assembler;
        // What was altered is not run, not even to ask what it is.
        assembler.altered = !is_as_installed(folder);
        assembler.version = folder.filename();
        assembler.ptxas = folder / "ptxas";
        if (const auto probed = assembler.altered ? std::nullopt : probe(assembler.ptxas)) assembler = *probed;
        assembler.installed_by_us = true;
        found.push_back(assembler);
    }
    return found;
}

Assembler remove_assembler(const std::string& version) {
    const ToolchainsLock lock;
    std::vector<Assembler> meant;
    std::string others;
    for (const Assembler& assembler : check_installed()) {
        if (begins_version(version, assembler.version)) meant.push_back(assembler);
        others += (others.empty() ? "" : ", ") + assembler.version;
    }
    if (meant.empty()) {
        throw Error("no ptxas " + version + " was installed by jali" +
                    (others.empty() ? ", nor any other" : " (but " + others + ")"));
    }
    if (meant.size() > 1) {
        throw Error("'" + version + "' could mean each of " + std::to_string(meant.size()) + " installed: " + others);
    }
    // Out of sight in one step, then away.
    const fs::path folder = toolchains_folder() / meant[0].version;
    const fs::path doomed = toolchains_folder() / (".removed-" + meant[0].version);
    std::error_code error;
    fs::remove_all(doomed, error);
    fs::rename(folder, doomed, error);
    if (error) throw FileError("cannot remove '" + folder.string() + "': " + error.message());
    fs::remove_all(doomed, error);
    return meant[0];
}

}  // namespace jali::audit

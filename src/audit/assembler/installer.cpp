// `jali toolchain install`: a wheel through pip, two programs out of it, a record beside them.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "audit/assembler/installed.h"
#include "audit/assembler/process.h"
#include "audit/assembler/temporary_folder.h"
#include "audit/assembler/toolchain_probe.h"
#include "audit/assembler/version.h"
#include "audit/assembler/wheel_tools.h"
#include "audit/sha256.h"
#include "io/atomic_file.h"
#include "jali/audit_assemble.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kDownloadSeconds = 3600;
constexpr double kQuerySeconds = 120;

// NVIDIA's names for one thing: a suffix up to CUDA 12, none from 13 on.
std::string package_of(const std::string& version) {
    const std::string major = version.substr(0, version.find('.'));
    if (major == "11" || major == "12") return "nvidia-cuda-nvcc-cu" + major;
    if (is_older(major, "11")) throw Error("PyPI has no ptxas before 11, and " + version + " was asked for");
    return "nvidia-cuda-nvcc";
}

int64_t bytes_below(const fs::path& folder) {
    int64_t bytes = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
        std::error_code gone;
        if (!file->is_regular_file(gone)) continue;
        const auto size = file->file_size(gone);
        if (!gone) bytes += static_cast<int64_t>(size);
    }
    return bytes;
}

ProcessResult pip(std::vector<std::string> arguments, const ProcessCall& rest) {
    ProcessCall call = rest;
    call.arguments = {"python3", "-m", "pip", "--disable-pip-version-check", "--no-input"};
    call.arguments.insert(call.arguments.end(), arguments.begin(), arguments.end());
    call.environment.emplace_back("PYTHONWARNINGS", "ignore");
    ProcessResult result;
    try {
        result = run_process(call);
    } catch (const Error& error) {
        throw Error("pip fetches the assembler, and " + std::string(error.what()) + "; install Python 3 with pip");
    }
    if (result.output.find("No module named pip") != std::string::npos) {
        throw Error("pip fetches the assembler, and this python3 has none; install it (python3-pip)");
    }
    return result;
}

// What pip calls an error, or else the last line that it wrote.
std::string pip_words(const std::string& output) {
    std::string errors, last;
    size_t at = 0;
    while (at < output.size()) {
        const size_t end = std::min(output.find('\n', at), output.size());
        const std::string line = output.substr(at, end - at);
        if (line.starts_with("ERROR:")) errors += (errors.empty() ? "" : "; ") + line.substr(sizeof "ERROR:");
        if (!line.empty()) last = line;
        at = end + 1;
    }
    return errors.empty() ? last : errors;
}

std::string available_versions(const std::string& package) {
    ProcessCall call;
    call.timeout_seconds = kQuerySeconds;
    const ProcessResult result = pip({"index", "versions", package}, call);
    constexpr std::string_view kMark = "Available versions: ";
    const size_t begin = result.output.find(kMark);
    if (begin == std::string::npos) return {};
    const size_t from = begin + kMark.size();
    return result.output.substr(from, result.output.find('\n', from) - from);
}

[[noreturn]] void fail(const std::string& version, const std::string& package, const ProcessResult& result) {
    if (result.timed_out) throw Error("pip did not fetch " + package + " " + version + " within an hour");
    if (result.output.find("No matching distribution") != std::string::npos) {
        if (const std::string versions = available_versions(package); !versions.empty()) {
            throw Error("there is no " + package + " " + version + "; there are " + versions);
        }
    }
    throw Error("pip could not fetch " + package + " " + version + ": " + pip_words(result.output));
}

// A whole version has three numbers; what has fewer is a beginning.
std::string requirement(const std::string& package, const std::string& version) {
    const bool whole = std::ranges::count(version, '.') >= 2;
    return package + "==" + version + (whole ? "" : ".*");
}

fs::path download(const std::string& version, const fs::path& folder, const InstallProgress& progress) {
    const std::string package = package_of(version);
    const fs::path wheels = folder / "wheels";
    const fs::path scratch = folder / "pip";
    fs::create_directory(wheels);
    fs::create_directory(scratch);
    ProcessCall call;
    call.timeout_seconds = kDownloadSeconds;
    call.environment = {{"TMPDIR", scratch.string()}};  // where pip collects what arrives, for us to count
    int64_t most = 0;
    call.while_running = [&] {
        most = std::max(most, bytes_below(folder));
        if (progress) progress("fetching " + package, most);
    };
    const ProcessResult result = pip({"download", "--no-deps", "--only-binary=:all:", "--progress-bar=off", "--dest",
                                      wheels.string(), requirement(package, version)},
                                     call);
    if (!result.succeeded()) fail(version, package, result);
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(wheels)) {
        if (entry.path().extension() == ".whl") found.push_back(entry.path());
    }
    if (found.size() != 1) {
        throw Error("pip fetched " + std::to_string(found.size()) + " wheels for " + package + " " + version +
                    " where one was expected: " + pip_words(result.output));
    }
    return found[0];
}

// The second part of name-version-tags.whl.
std::string version_of_wheel(const fs::path& wheel) {
    const std::string name = wheel.stem();
    const size_t begin = name.find('-');
    const size_t end = begin == std::string::npos ? begin : name.find('-', begin + 1);
    const std::string version = end == std::string::npos ? "" : name.substr(begin + 1, end - begin - 1);
    if (!is_version(version)) throw Error("the wheel '" + wheel.filename().string() + "' names no version");
    return version;
}

std::string now_in_utc() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::string text(32, '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
    return text;
}

void write_record(const fs::path& folder, const fs::path& wheel, const std::string& version,
                  const std::vector<std::string>& tools) {
    Json record = {{"version", version},
                   {"package", package_of(version)},
                   {"wheel", wheel.filename().string()},
                   {"wheel_sha256", sha256_of_file(wheel)},
                   {"installed", now_in_utc()},
                   {"files", Json::object()}};
    for (const std::string& tool : tools) record["files"][tool] = sha256_of_file(folder / tool);
    io::write_file(folder / kToolchainRecord, record.dump(2) + "\n");
}

std::optional<Assembler> already_installed(const std::string& version) {
    for (const Assembler& assembler : check_installed()) {
        if (assembler.version == version && !assembler.altered) return assembler;
    }
    return std::nullopt;
}

void put_in_place(const fs::path& prepared, const fs::path& target, const fs::path& scratch) {
    std::error_code error;
    if (fs::exists(target)) fs::rename(target, scratch / "replaced", error);  // one that was altered
    if (!error) fs::rename(prepared, target, error);
    if (error) throw FileError("cannot put '" + target.string() + "' in place: " + error.message());
}

}  // namespace

Assembler install_assembler(const std::string& version, const InstallProgress& progress) {
    if (!is_version(version)) throw Error("'" + version + "' is no version such as 13.0 or 13.0.88");
    const ToolchainsLock lock([&] {
        if (progress) progress("waiting for another installation", 0);
    });
    if (auto installed = already_installed(version)) return *installed;
    const TemporaryFolder folder(toolchains_folder());
    const fs::path wheel = download(version, folder.path(), progress);
    const std::string exact = version_of_wheel(wheel);
    if (!begins_version(version, exact)) {
        throw Error("pip was asked for " + version + " and fetched '" + wheel.filename().string() + "'");
    }
    if (auto installed = already_installed(exact)) return *installed;

    if (progress) progress("unpacking " + wheel.filename().string(), static_cast<int64_t>(fs::file_size(wheel)));
    const fs::path prepared = folder.path() / exact;
    fs::create_directory(prepared);
    const std::vector<std::string> tools = extract_tools(wheel, prepared);
    write_record(prepared, wheel, exact, tools);
    const auto probed = probe(prepared / "ptxas");
    if (!probed) throw Error("the ptxas of '" + wheel.filename().string() + "' does not run on this machine");
    if (probed->version != exact) {
        throw Error("the wheel '" + wheel.filename().string() + "' holds ptxas " + probed->version);
    }
    put_in_place(prepared, toolchains_folder() / exact, folder.path());
    auto installed = already_installed(exact);
    if (!installed) throw Error("ptxas " + exact + " was installed and is not what it was a moment before");
    return *installed;
}

}  // namespace jali::audit

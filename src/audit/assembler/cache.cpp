#include "audit/assembler/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "audit/sha256.h"
#include "io/atomic_file.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The first line of an entry names its form and the hash of the rest; then a line of JSON, then the cubin.
constexpr std::string_view kForm = "jali assembly 1 ";
constexpr size_t kHashDigits = 64;
constexpr std::string_view kEntryExtension = ".assembly";
constexpr int64_t kLargestEntryBytes = int64_t{1} << 30;

fs::path assemblies_folder() {
    return cache_folder() / "assemblies";
}

fs::path entry_path(const std::string& key) {
    return assemblies_folder() / key.substr(0, 2) / (key + std::string(kEntryExtension));
}

struct Entry {
    fs::path path;
    int64_t bytes = 0;
    fs::file_time_type used;
};

std::vector<Entry> entries() {
    std::vector<Entry> found;
    std::error_code error;
    for (fs::recursive_directory_iterator file(assemblies_folder(), error), end; !error && file != end;
         file.increment(error)) {
        std::error_code gone;  // another process may shrink the cache as well
        if (file->path().extension() != kEntryExtension || !file->is_regular_file(gone)) continue;
        const auto bytes = static_cast<int64_t>(file->file_size(gone));
        const auto used = file->last_write_time(gone);
        if (!gone) found.push_back({file->path(), bytes, used});
    }
    return found;
}

std::optional<std::string> read_whole(const fs::path& path) {
    std::error_code error;
    const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
    if (error || bytes > kLargestEntryBytes) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    std::string content(static_cast<size_t>(bytes), '\0');
    file.read(content.data(), static_cast<std::streamsize>(bytes));
    if (!file || file.gcount() != bytes) return std::nullopt;
    return content;
}

CacheUse use_of(const std::vector<Entry>& entries) {
    CacheUse use;
    for (const Entry& entry : entries) {
        ++use.results;
        use.bytes += entry.bytes;
    }
    return use;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path cache_folder() {
    if (const std::string own = environment("JALI_CACHE"); !own.empty()) return fs::absolute(own);
    if (const std::string shared = environment("XDG_CACHE_HOME"); !shared.empty()) return fs::absolute(shared) / "jali";
    const std::string home = environment("HOME");
    if (home.empty())
        throw Error("there is no folder for the cache: none of JALI_CACHE, XDG_CACHE_HOME and HOME is set");
    return fs::path(home) / ".cache" / "jali";
}

std::string cache_key(std::string_view ptx, const Variant& variant) {
    Json json = {{"ptx", sha256(ptx)},    {"assembler", variant.assembler.sha256}, {"options", variant.options},
                 {"arch", variant.arch},  {"route", name_of(variant.route)},       {"line_tables", variant.line_tables},
                 {"files", Json::array()}};
    for (const fs::path& file : files_of_options(variant.options)) json["files"].push_back(sha256_of_file(file));
    // Options need not be UTF-8.
    return sha256(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<CachedAssembly> load_cached(const std::string& key) {
    const fs::path path = entry_path(key);
    const std::optional<std::string> content = read_whole(path);
    if (!content || !content->starts_with(kForm)) return std::nullopt;
    std::string_view rest = *content;
    rest.remove_prefix(kForm.size());
    const std::string_view hash = rest.substr(0, kHashDigits);
    rest.remove_prefix(hash.size());
    if (!rest.starts_with('\n')) return std::nullopt;
    rest.remove_prefix(1);
    if (sha256(rest) != hash) return std::nullopt;
    const size_t line = rest.find('\n');
    if (line == std::string_view::npos) return std::nullopt;
    const Json json = Json::parse(rest.substr(0, line), nullptr, false);
    if (!json.is_object() || !json.contains("log") || !json["log"].is_string() || !json.contains("milliseconds") ||
        !json["milliseconds"].is_number()) {
        return std::nullopt;
    }
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now; where that is refused it leaves the cache earlier
    rest.remove_prefix(line + 1);
    return CachedAssembly{
        json["log"].get<std::string>(), json["milliseconds"].get<double>(), {rest.begin(), rest.end()}};
}

void store_cached(const std::string& key, const CachedAssembly& assembly) noexcept {
    try {
        const fs::path path = entry_path(key);
        fs::create_directories(path.parent_path());
        const Json json = {{"log", assembly.log}, {"milliseconds", assembly.milliseconds}};
        std::string content = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        content.append(assembly.cubin.begin(), assembly.cubin.end());
        io::write_file(path, std::string(kForm) + sha256(content) + "\n" + content);
    } catch (const std::exception&) {
        // The result is there; it will be made again.
    }
}

void shrink_cache(int64_t limit_bytes) noexcept {
    try {
        std::vector<Entry> all = entries();
        int64_t bytes = use_of(all).bytes;
        if (bytes <= limit_bytes) return;
        std::ranges::sort(all, {}, &Entry::used);
        for (const Entry& entry : all) {
            if (bytes <= limit_bytes) return;
            std::error_code gone;
            fs::remove(entry.path, gone);
            bytes -= entry.bytes;
        }
    } catch (const std::exception&) {
        // Too large for now.
    }
}

CacheUse assembly_cache_use() {
    return use_of(entries());
}

CacheUse clear_assembly_cache() {
    const CacheUse use = assembly_cache_use();
    std::error_code error;
    fs::remove_all(assemblies_folder(), error);
    if (error) throw FileError("cannot remove '" + assemblies_folder().string() + "': " + error.message());
    return use;
}

}  // namespace jali::audit

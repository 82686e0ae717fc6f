#include "audit/assembler/wheel_tools.h"

#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kTools = {"ptxas", "nvlink"};
constexpr uint64_t kLargestToolBytes = uint64_t{1} << 30;
constexpr size_t kPieceBytes = size_t{1} << 18;

struct CloseArchive {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseFile {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

[[noreturn]] void fail(const fs::path& wheel, const std::string& what) {
    throw FileError("'" + wheel.string() + "' " + what);
}

Archive open_archive(const fs::path& wheel) {
    int code = 0;
    Archive archive(zip_open(wheel.c_str(), ZIP_RDONLY, &code));
    if (archive) return archive;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail(wheel, "cannot be read as a wheel: " + reason);
}

void extract(const fs::path& wheel, zip_t* archive, zip_uint64_t index, const fs::path& target) {
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_stat_index(archive, index, 0, &status) != 0 || (status.valid & ZIP_STAT_SIZE) == 0) {
        fail(wheel, "does not say how large its " + target.filename().string() + " is");
    }
    if (status.size > kLargestToolBytes) {
        fail(wheel, "holds a " + target.filename().string() + " of " + std::to_string(status.size) +
                        " bytes, more than the " + std::to_string(kLargestToolBytes) + " that one may have");
    }
    const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive, index, 0));
    std::ofstream out(target, std::ios::binary);
    std::vector<char> piece(kPieceBytes);
    zip_int64_t count = file ? 0 : -1;
    uint64_t written = 0;
    while (file && (count = zip_fread(file.get(), piece.data(), piece.size())) > 0) {
        out.write(piece.data(), static_cast<std::streamsize>(count));
        written += static_cast<uint64_t>(count);
    }
    if (count < 0 || written != status.size) fail(wheel, "is damaged at its " + target.filename().string());
    out.close();
    if (!out) throw FileError("cannot write '" + target.string() + "': " + std::strerror(errno));
    chmod(target.c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
}

}  // namespace

std::vector<std::string> extract_tools(const fs::path& wheel, const fs::path& folder) {
    const Archive archive = open_archive(wheel);
    std::vector<std::string> names;
    const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
    for (zip_int64_t i = 0; i < entries; ++i) {
        const auto index = static_cast<zip_uint64_t>(i);
        const char* entry = zip_get_name(archive.get(), index, 0);
        if (entry == nullptr) continue;
        const fs::path path(entry);
        const std::string name = path.filename();
        if (path.parent_path().filename() != "bin" || std::ranges::find(kTools, name) == kTools.end()) continue;
        if (std::ranges::find(names, name) != names.end()) fail(wheel, "holds more than one bin/" + name);
        extract(wheel, archive.get(), index, folder / name);
        names.push_back(name);
    }
    if (std::ranges::find(names, kTools[0]) == names.end()) fail(wheel, "holds no bin/ptxas");
    return names;
}

}  // namespace jali::audit

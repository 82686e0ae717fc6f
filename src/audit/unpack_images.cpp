#include <fmt/format.h>

#include <system_error>

#include "audit/packed_image.h"
#include "audit/walk.h"
#include "io/atomic_file.h"
#include "jali/audit.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

namespace fs = std::filesystem;

bool is_wanted(const PackedImage& packed, const UnpackOptions& options) {
    const bool is_ptx = packed.image.kind == ImageKind::kPtx;
    if (is_ptx ? !options.ptx : !options.cubins) return false;
    return options.arch.empty() || packed.image.arch.empty() || packed.image.arch == options.arch;
}

std::string file_name(const Image& image, size_t number) {
    const char* ending = image.kind == ImageKind::kPtx ? "ptx" : "cubin";
    if (image.arch.empty()) return fmt::format("{:04}.{}", number, ending);
    return fmt::format("{:04}.{}.{}", number, image.arch, ending);
}

void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw FileError(folder.string() + ": " + error.message());
}

}  // namespace

Unpacked unpack_images(const fs::path& path, const fs::path& folder, const UnpackOptions& options) {
    make_folder(folder);
    Unpacked unpacked;
    size_t number = 0;
    const auto write = [&](const PackedImage& packed) {
        if (!is_wanted(packed, options)) return;
        Image image;
        try {
            image = unpack(packed);
        } catch (const FileError& error) {
            unpacked.problems.push_back({packed.image.origin, error.what()});
            return;
        }
        if (options.most_bytes > 0 && std::ssize(image.bytes) > options.most_bytes) return;
        const fs::path file = folder / file_name(image, number++);
        io::write_file(file, image.bytes);
        unpacked.files.push_back(file);
    };
    walk(path, {.on_image = write,
                .on_problem = [&](Problem problem) { unpacked.problems.push_back(std::move(problem)); },
                .on_other = {}});
    return unpacked;
}

}  // namespace jali::audit

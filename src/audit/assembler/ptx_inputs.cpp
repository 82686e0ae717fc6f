#include "audit/assembler/ptx_inputs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "audit/walk.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestPtxBytes = uint64_t{1} << 30;

// Some compilers end or pad what they dump with NULs, which assemblers refuse.
std::string without_padding(std::string text) {
    std::erase(text, '\0');
    return text;
}

std::string read_text(const fs::path& path) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(path, error);
    if (error) throw FileError("cannot read '" + path.string() + "': " + error.message());
    if (bytes > kLargestPtxBytes) {
        throw FileError("'" + path.string() + "' has " + std::to_string(bytes) + " bytes, more than the " +
                        std::to_string(kLargestPtxBytes) + " that PTX may have here");
    }
    std::ifstream file(path, std::ios::binary);
    std::string text(bytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(bytes));
    if (!file) throw FileError("cannot read '" + path.string() + "': " + std::strerror(errno));
    return text;
}

void collect(const fs::path& path, PtxInputs& collected) {
    std::error_code error;
    if (path.extension() == ".ptx" && fs::is_regular_file(path, error)) {
        collected.inputs.push_back({path.string(), without_padding(read_text(path))});
        return;
    }
    PtxImages found = read_ptx_images(path);
    for (const Image& image : found.images) {
        collected.inputs.push_back(
            {image.origin, without_padding(std::string(image.bytes.begin(), image.bytes.end()))});
    }
    std::ranges::move(found.problems, std::back_inserter(collected.problems));
}

}  // namespace

PtxInputs collect_ptx(const std::vector<fs::path>& paths) {
    PtxInputs collected;
    for (const fs::path& path : paths) collect(path, collected);
    if (collected.inputs.empty() && collected.problems.empty()) {
        throw Error("there is no PTX in " + (paths.empty() ? "nothing" : "'" + paths[0].string() + "'") +
                    (paths.size() > 1 ? " and " + std::to_string(paths.size() - 1) + " more" : ""));
    }
    return collected;
}

}  // namespace jali::audit

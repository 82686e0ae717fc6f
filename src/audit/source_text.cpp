#include "audit/source_text.h"

#include <algorithm>
#include <iterator>
#include <system_error>

#include "io/read_file.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargestSource = 16 << 20;
// More parts than any real path; a hostile one may have millions.
constexpr ptrdiff_t kMostParts = 64;
constexpr size_t kLongestPath = 4096;

bool lies_below(const fs::path& path, const fs::path& root) {
    const auto [in_root, in_path] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
    return in_root == root.end();
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text) {
    for (size_t begin = 0; begin < text.size();) {
        begins_.push_back(begin);
        const size_t end = text.find('\n', begin);
        if (end == std::string_view::npos) break;
        begin = end + 1;
    }
}

std::string_view Lines::line(int64_t number) const {
    if (number < 1 || number > count()) return {};
    const size_t begin = begins_[static_cast<size_t>(number - 1)];
    const size_t end = std::min(text_.find('\n', begin), text_.size());
    std::string_view line = text_.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

SourceFiles::SourceFiles(const std::vector<std::string>& roots) {
    for (const std::string& root : roots) {
        std::error_code error;
        const fs::path real = fs::canonical(root, error);
        if (!error) roots_.push_back(real);
    }
}
SourceFiles::~SourceFiles() = default;

const Lines* SourceFiles::find(const std::string& name) {
    if (name.empty() || name.size() > kLongestPath || name.find('\0') != std::string::npos) return nullptr;
    const auto [entry, fresh] = files_.try_emplace(name);
    File& file = entry->second;
    if (fresh) {
        const fs::path path = locate(name);
        if (!path.empty()) {
            try {
                const std::vector<uint8_t> bytes = io::read_file(path);
                file.text.assign(bytes.begin(), bytes.end());
                file.lines.emplace(file.text);
            } catch (const Error&) {
                file.lines.reset();  // shown without its text, like a file that is not there
            }
        }
    }
    return file.lines ? &*file.lines : nullptr;
}

fs::path SourceFiles::locate(const fs::path& name) const {
    const fs::path normal = name.lexically_normal();
    const ptrdiff_t parts = std::distance(normal.begin(), normal.end());
    for (const fs::path& root : roots_) {
        for (ptrdiff_t first = std::max<ptrdiff_t>(0, parts - kMostParts); first < parts; ++first) {
            fs::path tail;
            for (auto part = std::next(normal.begin(), first); part != normal.end(); ++part) tail /= *part;
            std::error_code error;
            const fs::path real = fs::canonical(root / tail, error);  // an absolute tail replaces the root
            if (error || !lies_below(real, root) || !fs::is_regular_file(real, error)) continue;
            const uintmax_t size = fs::file_size(real, error);
            if (!error && size <= kLargestSource) return real;
        }
    }
    return {};
}

}  // namespace jali::audit

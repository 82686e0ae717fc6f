// The text of lines: of the PTX that a kernel carries, and of source files below folders that the user named.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jali::audit {

// One-based lines of a text, which must outlive it.
class Lines {
   public:
    explicit Lines(std::string_view text);
    int64_t count() const { return static_cast<int64_t>(begins_.size()); }
    std::string_view line(int64_t number) const;  // empty outside

   private:
    std::string_view text_;
    std::vector<size_t> begins_;
};

// Reads what line tables name, but only regular files below the roots: a table of somebody else's may name any file of
// this machine, and reports are sent around. A path that is not there is looked for below each root by its last parts,
// so that a file of another machine's checkout is found in this one.
class SourceFiles {
   public:
    explicit SourceFiles(const std::vector<std::string>& roots);
    ~SourceFiles();
    SourceFiles(const SourceFiles&) = delete;
    SourceFiles& operator=(const SourceFiles&) = delete;

    // Null where there is no such file below a root.
    const Lines* find(const std::string& name);

   private:
    struct File {
        std::string text;
        std::optional<Lines> lines;
    };
    std::filesystem::path locate(const std::filesystem::path& name) const;

    std::vector<std::filesystem::path> roots_;
    std::map<std::string, File> files_;
};

}  // namespace jali::audit

// A folder for one piece of work, gone with it.
#pragma once

#include <filesystem>

namespace jali::audit {

// Made in `parent` (empty: the system's temporary folder) and removed with all in it at the end. What a killed process
// left behind is removed by the next that makes one there.
class TemporaryFolder {
   public:
    explicit TemporaryFolder(const std::filesystem::path& parent = {});  // throws FileError
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

   private:
    std::filesystem::path path_;
    int lock_ = -1;  // on the folder itself, as long as this lives
};

}  // namespace jali::audit

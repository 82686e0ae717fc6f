#include "audit/assembler/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "jali/error.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "jali-work-";

int open_locked(const fs::path& folder) {
    const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) return -1;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
    close(descriptor);
    return -1;
}

// Ours by owner and old enough that nobody is between making and locking it.
bool may_be_left_over(const fs::path& folder) {
    constexpr time_t kSettledSeconds = 60;
    struct stat status {};
    return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           status.st_ctim.tv_sec + kSettledSeconds < time(nullptr);
}

// Once a parent and process is enough.
void sweep(const fs::path& parent) {
    static std::mutex mutex;
    static std::set<fs::path> swept;
    const std::lock_guard lock(mutex);
    if (!swept.insert(parent).second) return;
    std::error_code error;
    for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
        const fs::path folder = entry->path();
        if (!folder.filename().string().starts_with(kPrefix) || !may_be_left_over(folder)) continue;
        const int locked = open_locked(folder);
        if (locked < 0) continue;  // in use
        std::error_code busy;
        fs::remove_all(folder, busy);
        close(locked);
    }
}

}  // namespace

TemporaryFolder::TemporaryFolder(const fs::path& parent) {
    const fs::path place = parent.empty() ? fs::temp_directory_path() : parent;
    sweep(place);
    std::string name = (place / (std::string(kPrefix) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) {
        throw FileError("cannot make a folder in '" + place.string() + "': " + std::strerror(errno));
    }
    path_ = name;
    lock_ = open_locked(path_);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
    if (lock_ >= 0) close(lock_);
}

}  // namespace jali::audit

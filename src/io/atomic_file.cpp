#include "io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "jali/error.h"

namespace jali::io {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kLongestName = 255;

std::string message_of(int error) {
    return std::generic_category().message(error);
}

// Renaming over a link would replace the link; the user means the file behind it.
std::filesystem::path follow_links(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::path target = path;
    for (int hops = 0; hops < 40 && std::filesystem::is_symlink(target, error); ++hops) {
        const std::filesystem::path next = std::filesystem::read_symlink(target, error);
        if (error) break;
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    return target;
}

// The permissions of the file that stands at `target`, if one does. Throws where something else stands there: a
// rename would replace a device or a pipe by a file.
std::optional<mode_t> permissions_of(const std::filesystem::path& path, const std::filesystem::path& target) {
    struct stat status {};
    if (::stat(target.c_str(), &status) != 0) return std::nullopt;
    if (S_ISDIR(status.st_mode)) {
        throw FileError(fmt::format("cannot write '{}': it is a directory, expected a file", path.string()));
    }
    if (!S_ISREG(status.st_mode)) {
        throw FileError(
            fmt::format("cannot write '{}': it is a device, pipe or socket, expected a file", path.string()));
    }
    return status.st_mode & mode_t{07777};
}

std::filesystem::path temporary_name(const std::filesystem::path& target) {
    static std::atomic<uint64_t> counter{0};
    const std::string suffix = fmt::format(".tmp-{}-{}", ::getpid(), counter++);
    const std::string name = target.filename().string();
    return target.parent_path() / (name.substr(0, kLongestName - suffix.size()) + suffix);
}

// Makes a rename in `folder` survive a power cut. Some file systems cannot, and the file is in place by then, so a
// failure is none of the caller's.
void sync_folder(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), target_(follow_links(path_)) {
    if (target_.filename().empty()) {
        throw FileError(fmt::format("cannot write '{}': it names no file", path_.string()));
    }
    const std::optional<mode_t> permissions = permissions_of(path_, target_);
    buffer_.reserve(kBufferBytes);
    std::filesystem::path candidate;
    do {  // a name can be left over from a killed process of the same number
        candidate = temporary_name(target_);
        descriptor_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) fail(errno);
    temporary_ = std::move(candidate);
    if (permissions && ::fchmod(descriptor_, *permissions) != 0) {
        // A file system without permissions: the new file has its defaults.
        errno = 0;
    }
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const uint8_t> bytes) {
    if (bytes.size() >= kBufferBytes) {
        flush();
        write_through(bytes);
        return;
    }
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::write(std::string_view text) {
    write(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

void AtomicFile::commit() {
    flush();
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);  // EINVAL: a file system that has no such call
    const int closed = ::close(std::exchange(descriptor_, -1));
    if (closed != 0) fail(errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
    sync_folder(target_.parent_path());
}

void AtomicFile::flush() {
    write_through(buffer_);
    buffer_.clear();
}

void AtomicFile::write_through(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(errno);
        written_ += count;
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
}

void AtomicFile::fail(int error) const {
    if (written_ == 0) throw FileError(fmt::format("cannot write '{}': {}", path_.string(), message_of(error)));
    throw FileError(fmt::format("cannot write '{}': {} after {} bytes", path_.string(), message_of(error), written_));
}

void write_file(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
    write_file(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

}  // namespace jali::io

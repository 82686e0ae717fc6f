#include "io/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "jali/error.h"

namespace jali::io {
namespace {

constexpr size_t kPipeChunkBytes = size_t{1} << 16;

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
    throw FileError(fmt::format("cannot read '{}': {}", path.string(), std::generic_category().message(error)));
}

// An open file and its size; 0 for what has none (a pipe).
class Descriptor {
   public:
    explicit Descriptor(const std::filesystem::path& path) : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (value_ < 0) fail(path, errno);
        struct stat status {};
        const int result = ::fstat(value_, &status);
        const int error = result != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
        if (error != 0) {
            ::close(value_);
            fail(path, error);
        }
        // Some never end, and none is a file of ours.
        if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
            ::close(value_);
            throw FileError(fmt::format("cannot read '{}': it is a device", path.string()));
        }
        if (S_ISREG(status.st_mode)) size_ = static_cast<size_t>(status.st_size);
    }
    ~Descriptor() { ::close(value_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int value() const { return value_; }
    size_t size() const { return size_; }

   private:
    int value_;
    size_t size_ = 0;
};

template <typename Bytes>
Bytes read_all(const Descriptor& file, const std::filesystem::path& path) {
    Bytes bytes;
    size_t used = 0;
    // One byte more than the size, so that the end of a file shows without another growth.
    bytes.resize(file.size() + 1);
    while (true) {
        if (used == bytes.size()) bytes.resize(used + std::max(used, kPipeChunkBytes));
        const ssize_t count = ::read(file.value(), bytes.data() + used, bytes.size() - used);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path, errno);
        if (count == 0) break;
        used += static_cast<size_t>(count);
    }
    bytes.resize(used);
    return bytes;
}

}  // namespace

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
    const Descriptor file(path);
    return read_all<std::vector<uint8_t>>(file, path);
}

AlignedBytes read_file_aligned(const std::filesystem::path& path) {
    const Descriptor file(path);
    return read_all<AlignedBytes>(file, path);
}

MappedFile::MappedFile(const std::filesystem::path& path) {
    const Descriptor file(path);
    if (file.size() > 0) {
        void* address = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.value(), 0);
        if (address != MAP_FAILED) {
            bytes_ = {static_cast<const uint8_t*>(address), file.size()};
            mapped_ = true;
            return;
        }
    }
    read_ = read_all<std::vector<uint8_t>>(file, path);
    bytes_ = read_;
}

MappedFile::~MappedFile() {
    // munmap's parameter has no const, and the pages are ours.
    if (mapped_) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      mapped_(std::exchange(other.mapped_, false)),
      read_(std::move(other.read_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    std::swap(read_, other.read_);
    return *this;
}

}  // namespace jali::io

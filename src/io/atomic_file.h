// Files that appear under their name complete, or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace jali::io {

// Collects bytes in a temporary file beside `path` and puts it in place on commit(). Until then, and after any
// failure, whatever stood at `path` stays as it was; the temporary is removed unless the process is killed
// (then "NAME.tmp-PID-N" remains, which nothing reads). A symbolic link is followed: its target is replaced.
class AtomicFile {
   public:
    // Throws FileError where `path` is a directory or another thing that is no file, or its folder cannot be written.
    explicit AtomicFile(std::filesystem::path path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    // Both throw FileError ("cannot write 'x': No space left on device after 8192 bytes").
    void write(std::span<const uint8_t> bytes);
    void write(std::string_view text);
    // Flushes to the disk and renames; throws FileError, after which `path` is as it was.
    void commit();

    const std::filesystem::path& path() const { return path_; }

   private:
    void flush();
    void write_through(std::span<const uint8_t> bytes);
    [[noreturn]] void fail(int error) const;

    std::filesystem::path path_;       // as the caller wrote it
    std::filesystem::path target_;     // links followed
    std::filesystem::path temporary_;  // empty once it is gone
    int descriptor_ = -1;
    int64_t written_ = 0;
    std::vector<uint8_t> buffer_;
};

// The whole of a file, at once.
void write_file(const std::filesystem::path& path, std::span<const uint8_t> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace jali::io

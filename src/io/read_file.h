// Files as bytes in memory: read, or mapped where they may be larger than memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace jali::io {

// The whole of a file or pipe. Throws FileError ("cannot read 'x': No such file or directory").
std::vector<uint8_t> read_file(const std::filesystem::path& path);

// A file's bytes, mapped read-only; they stay where they are when the object moves. A file that another process
// shortens meanwhile faults, as with any mapping. A pipe is read instead. Throws FileError.
class MappedFile {
   public:
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    std::span<const uint8_t> bytes() const { return bytes_; }
    bool is_mapped() const { return mapped_; }  // false: read into memory

   private:
    std::span<const uint8_t> bytes_;
    bool mapped_ = false;
    std::vector<uint8_t> read_;  // where nothing could be mapped
};

}  // namespace jali::io

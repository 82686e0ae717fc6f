// Files as bytes in memory: read, or mapped where they may be larger than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <span>
#include <vector>

namespace jali::io {

// Memory for tensors begins where the widest vector and a cache line do.
template <typename T>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kAlignment{64};

    CacheLineAllocator() = default;
    template <typename U>
    explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}
    T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
    void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }
    friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
};
using AlignedBytes = std::vector<uint8_t, CacheLineAllocator<uint8_t>>;

// The whole of a file or pipe. Throws FileError ("cannot read 'x': No such file or directory").
std::vector<uint8_t> read_file(const std::filesystem::path& path);
// The same, beginning at a multiple of 64.
AlignedBytes read_file_aligned(const std::filesystem::path& path);

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

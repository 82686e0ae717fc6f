// Bytes that device code lies in: a file, a member of an archive, a part of either.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace jali::audit {

struct Carrier {
    std::string origin;  // as errors and kernels name it
    std::span<const uint8_t> bytes;
    std::shared_ptr<const void> owner;  // keeps the bytes
    bool mapped = false;                // from a file, so that its pages can be dropped and come back
    uint64_t held_bytes = 0;            // of memory that the owner keeps where it is no mapping

    // A part of these bytes under its own name.
    Carrier part(std::string part_origin, size_t begin, size_t size) const {
        return {std::move(part_origin), bytes.subspan(begin, size), owner, mapped, held_bytes};
    }
    // Gives the pages of the first `size` bytes back to the system. Who still reads there gets them anew.
    void drop_pages(size_t size) const;
};

// Gives back the pages of a carrier behind one who reads it from beginning to end, now and then.
class PageReturn {
   public:
    explicit PageReturn(const Carrier& carrier) : carrier_(carrier) {}
    // All before `offset` has been passed.
    void passed(uint64_t offset) {
        if (offset < returned_ + kEveryBytes) return;
        carrier_.drop_pages(offset);
        returned_ = offset;
    }

   private:
    static constexpr uint64_t kEveryBytes = uint64_t{32} << 20;
    const Carrier& carrier_;
    uint64_t returned_ = 0;
};

// Throws FileError where the file cannot be read.
Carrier map_file(const std::filesystem::path& path);

// Collects bytes of unknown number: few in memory, many in a file that has no name and goes when the carrier does.
class CarrierWriter {
   public:
    CarrierWriter() = default;
    ~CarrierWriter();
    CarrierWriter(const CarrierWriter&) = delete;
    CarrierWriter& operator=(const CarrierWriter&) = delete;

    void write(std::span<const uint8_t> bytes);  // throws FileError: no space
    Carrier finish(std::string origin);          // once

   private:
    void write_through(std::span<const uint8_t> bytes);

    std::shared_ptr<std::vector<uint8_t>> memory_ = std::make_shared<std::vector<uint8_t>>();
    std::filesystem::path folder_;
    int descriptor_ = -1;  // -1: in memory
    uint64_t size_ = 0;
};

}  // namespace jali::audit

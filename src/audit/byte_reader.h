// Little-endian numbers out of bytes that nobody vouches for. Every read is checked; an error names what was being read
// and the offset.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "jali/error.h"

namespace jali::audit {

class ByteReader {
   public:
    // `what` is what errors call the bytes: "fat binary", ".nv.info". It must outlive the reader.
    ByteReader(std::span<const uint8_t> bytes, std::string_view what) : bytes_(bytes), what_(what) {}

    size_t offset() const { return offset_; }
    size_t size() const { return bytes_.size(); }
    size_t left() const { return bytes_.size() - offset_; }
    bool at_end() const { return left() == 0; }

    template <typename Number>
    Number read() {
        static_assert(std::is_trivially_copyable_v<Number>);
        Number number;
        std::memcpy(&number, take(sizeof number).data(), sizeof number);
        return number;
    }
    std::span<const uint8_t> take(size_t count) {
        if (count > left()) fail("ends after " + std::to_string(left()) + " of " + std::to_string(count) + " bytes");
        const auto taken = bytes_.subspan(offset_, count);
        offset_ += count;
        return taken;
    }
    void skip(size_t count) { take(count); }
    void seek(size_t offset) {
        if (offset > bytes_.size())
            fail("names offset " + std::to_string(offset) + " of " + std::to_string(bytes_.size()) + " bytes");
        offset_ = offset;
    }
    // Up to the next NUL, which is skipped.
    std::string_view read_text() {
        const auto rest = bytes_.subspan(offset_);
        const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
        if (end == nullptr) fail("has a text without an end");
        const auto length = static_cast<size_t>(static_cast<const uint8_t*>(end) - rest.data());
        offset_ += length + 1;
        return {reinterpret_cast<const char*>(rest.data()), length};
    }
    uint64_t read_uleb128() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = read<uint8_t>();
            if (shift >= 64) fail("has a number of over 64 bits");
            value |= uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80U) == 0) return value;
        }
    }
    int64_t read_sleb128() {
        uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const auto byte = read<uint8_t>();
            if (shift >= 64) fail("has a number of over 64 bits");
            value |= uint64_t{byte & 0x7fU} << shift;
            shift += 7;
            if ((byte & 0x80U) != 0) continue;
            if (shift < 64 && (byte & 0x40U) != 0) value |= ~uint64_t{0} << shift;
            return static_cast<int64_t>(value);
        }
    }

    [[noreturn]] void fail(const std::string& how) const {
        throw FileError(std::string(what_) + " " + how + " at offset " + std::to_string(offset_));
    }

   private:
    std::span<const uint8_t> bytes_;
    std::string_view what_;
    size_t offset_ = 0;
};

}  // namespace jali::audit

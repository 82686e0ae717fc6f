#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <limits>
#include <memory>
#include <string>

#include "audit/packed_image.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

// LZ4 writes at most 255 bytes for each that it reads; zstd has no such limit.
constexpr uint64_t kMostLz4Ratio = 255;
// Above this size, who claims to shrink more than this is not believed. Real cubins shrink 5 to 50 times.
constexpr uint64_t kBelievedBytes = uint64_t{4} << 20;
constexpr uint64_t kBelievedRatio = 1000;

[[noreturn]] void fail(const PackedImage& packed, const std::string& how) {
    throw FileError(fmt::format("{} data of {} bytes at offset {} {}",
                                packed.compression == Compression::kLz4 ? "LZ4" : "zstd", packed.image.bytes.size(),
                                packed.carrier_offset, how));
}

void check_claim(const PackedImage& packed) {
    const uint64_t stored = packed.image.bytes.size(), claimed = packed.unpacked_bytes;
    if (claimed > kMostImageBytes)
        fail(packed, fmt::format("would unpack to {} bytes, over the limit of {}", claimed, kMostImageBytes));
    if (claimed > kBelievedBytes && claimed / kBelievedRatio > stored)
        fail(packed, fmt::format("would unpack to {} bytes, over {} times as many", claimed, kBelievedRatio));
    if (packed.compression == Compression::kLz4 && claimed / kMostLz4Ratio > stored)
        fail(packed,
             fmt::format("cannot unpack to {} bytes: LZ4 gives at most {} times as many", claimed, kMostLz4Ratio));
}

// How many bytes came out.
size_t unpack_lz4(const PackedImage& packed, std::span<uint8_t> out) {
    const std::span<const uint8_t> stored = packed.image.bytes;
    if (stored.size() > static_cast<size_t>(std::numeric_limits<int>::max())) fail(packed, "is over LZ4's limit");
    const int result =
        LZ4_decompress_safe(reinterpret_cast<const char*>(stored.data()), reinterpret_cast<char*>(out.data()),
                            static_cast<int>(stored.size()), static_cast<int>(out.size()));
    if (result < 0)
        fail(packed, fmt::format("is corrupt or unpacks to more than the {} bytes that its entry says", out.size()));
    return static_cast<size_t>(result);
}

size_t unpack_zstd(const PackedImage& packed, std::span<uint8_t> out) {
    const std::span<const uint8_t> stored = packed.image.bytes;
    const size_t result = ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
    if (ZSTD_isError(result) != 0)
        fail(packed, fmt::format("does not unpack to {} bytes: {}", out.size(), ZSTD_getErrorName(result)));
    return result;
}

}  // namespace

Image unpack(const PackedImage& packed) {
    Image image = packed.image;
    if (packed.compression != Compression::kNone) {
        check_claim(packed);
        // Not filled: pages that nothing is unpacked into take no memory.
        const std::shared_ptr<uint8_t[]> owner(new uint8_t[packed.unpacked_bytes + 1]);  // NOLINT(*-avoid-c-arrays)
        const std::span<uint8_t> out(owner.get(), packed.unpacked_bytes);
        const size_t size =
            packed.compression == Compression::kLz4 ? unpack_lz4(packed, out) : unpack_zstd(packed, out);
        if (size != out.size())
            fail(packed, fmt::format("unpacks to {} bytes, not the {} that its entry says", size, out.size()));
        image.bytes = out;
        image.owner = owner;
    }
    if (image.kind == ImageKind::kPtx) {
        while (!image.bytes.empty() && image.bytes.back() == 0) image.bytes = image.bytes.first(image.bytes.size() - 1);
    }
    return image;
}

}  // namespace jali::audit

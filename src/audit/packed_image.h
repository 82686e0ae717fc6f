// Device code as its carrier holds it, perhaps compressed; unpacked where and when it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "audit/image.h"

namespace jali::audit {

enum class Compression { kNone, kLz4, kZstd };

struct PackedImage {
    Image image;  // its bytes are as stored
    Compression compression = Compression::kNone;
    uint64_t unpacked_bytes = 0;  // as the carrier says, which may lie
    uint64_t carrier_offset = 0;  // where the stored bytes begin, for errors
    uint64_t held_bytes = 0;      // of memory that the owner keeps, mappings of files aside
};

// No single image is larger; what says that it is, is refused.
constexpr uint64_t kMostImageBytes = uint64_t{512} << 20;

// The image with its bytes as they are read. What claims to shrink by more than real images do is refused.
// Throws FileError where they do not unpack to exactly what the carrier says.
Image unpack(const PackedImage& packed);

}  // namespace jali::audit

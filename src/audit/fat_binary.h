// Fat binaries: PTX and cubins of several architectures in one container, as nvcc embeds them. The format is not
// documented; what is here was learnt from files that nvcc writes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "audit/carrier.h"
#include "audit/packed_image.h"

namespace jali::audit {

constexpr uint32_t kFatBinaryMagic = 0xBA55ED50;

// Whether a fat binary begins here, so far as its header and that of its first entry tell.
bool looks_like_fat_binary(std::span<const uint8_t> bytes);

struct FatBinaryVisitor {
    std::function<void(PackedImage)> on_image;
    std::function<void()> on_other;  // an entry that is neither PTX nor a cubin
    std::function<void(const std::string& sentence)> on_problem;
};

// Visits the images of the fat binary at `offset` of the carrier under the name `origin`, and what is wrong with it.
// Returns the offset past its end, or where it could not go on; at least one byte on.
uint64_t read_fat_binary(const Carrier& carrier, uint64_t offset, const std::string& origin,
                         const FatBinaryVisitor& visitor);

}  // namespace jali::audit

#include "block_mask/mask_file_layout.h"

#include <xxhash.h>

#include <algorithm>

#include "jali/block_mask.h"
#include "jali/mask_file.h"

namespace jali {
namespace {

void store(uint64_t value, std::span<uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace

std::array<uint8_t, 16> mask_file_checksum(std::span<const uint8_t> body) {
    const XXH128_hash_t hash = XXH3_128bits(body.data(), body.size());
    std::array<uint8_t, 16> bytes{};
    store(hash.low64, std::span(bytes).first(8));
    store(hash.high64, std::span(bytes).last(8));
    return bytes;
}

std::vector<uint8_t> frame_mask_file(std::span<const uint8_t> body) {
    std::vector<uint8_t> file(kMaskFileHeaderBytes + body.size());
    const std::span<uint8_t> bytes(file);
    std::copy(kMaskFileMagic.begin(), kMaskFileMagic.end(), bytes.begin());
    store(kMaskFileVersion, bytes.subspan(8, 4));
    store(kTileRows, bytes.subspan(12, 4));
    store(file.size(), bytes.subspan(kMaskFileSizeAt, 8));
    const std::array<uint8_t, 16> checksum = mask_file_checksum(body);
    std::copy(checksum.begin(), checksum.end(), bytes.subspan(kMaskFileChecksumAt).begin());
    std::copy(body.begin(), body.end(), bytes.subspan(kMaskFileHeaderBytes).begin());
    return file;
}

}  // namespace jali

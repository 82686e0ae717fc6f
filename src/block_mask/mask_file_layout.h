// The frame of a .jmask file, which docs/file_formats.md draws byte by byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace jali {

// Not text, and broken by a transfer that changes line ends.
inline constexpr std::array<uint8_t, 8> kMaskFileMagic{0x89, 'J', 'M', 'A', 'S', 'K', '\r', '\n'};
// Magic, version, rows of a tile, size of the file, checksum.
inline constexpr size_t kMaskFileHeaderBytes = 8 + 4 + 4 + 8 + 16;
inline constexpr size_t kMaskFileSizeAt = 16;
inline constexpr size_t kMaskFileChecksumAt = 24;

// XXH3-128 of `body`, low half first, as it stands in the header.
std::array<uint8_t, 16> mask_file_checksum(std::span<const uint8_t> body);
// The file whose sections are `body`, which may say anything.
std::vector<uint8_t> frame_mask_file(std::span<const uint8_t> body);

}  // namespace jali

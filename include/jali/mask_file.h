// The .jmask file: a block mask on disk. Versioned, checksummed, little-endian, no pointers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "jali/block_mask.h"

namespace jali {

inline constexpr uint32_t kMaskFileVersion = 1;

// Writes to a temporary name beside `path`, then renames. Throws FileError; `path` is then as it was.
void save_mask(const BlockMask& mask, const std::filesystem::path& path);
// Throws FileError with one sentence where the file is truncated, altered, newer, or inconsistent inside, and
// LimitError where the block mask would have more than `byte_limit` bytes (as BlockMask::bytes counts them), before it
// has them.
BlockMask load_mask(const std::filesystem::path& path, int64_t byte_limit = int64_t{1} << 30);

// The same as bytes in memory.
std::vector<uint8_t> encode_mask(const BlockMask& mask);
BlockMask decode_mask(std::span<const uint8_t> bytes, int64_t byte_limit = int64_t{1} << 30);

}  // namespace jali

// SHA-256 of bytes and of files, as 64 lower-case hexadecimal digits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace jali::audit {

std::string sha256(std::span<const uint8_t> bytes);
std::string sha256(std::string_view text);
// Throws FileError where the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace jali::audit

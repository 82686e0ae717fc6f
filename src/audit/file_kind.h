// What a file is, by its first bytes.
#pragma once

#include <cstdint>
#include <span>

namespace jali::audit {

enum class FileKind {
    kUnknown,
    kPtx,
    kCubin,      // ELF of device code
    kHostElf,    // 64-bit ELF of host code
    kFatBinary,  // by itself
    kArchive,    // .a
    kZip,        // a wheel is one
};

// The bytes that kind_of() wants to see, or all where there are fewer.
constexpr size_t kKindBytes = 4096;

FileKind kind_of(std::span<const uint8_t> beginning);

}  // namespace jali::audit

// One piece of device code, as it came out of whatever carried it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace jali::audit {

enum class ImageKind { kPtx, kCubin };

struct Image {
    ImageKind kind = ImageKind::kCubin;
    std::string origin;                 // the path, and inside archives "wheel.whl!lib.so!fatbin 3"
    std::string arch;                   // "sm_90a" where the carrier says; empty otherwise
    std::string options;                // of PTX in a fat binary: what its compiler would have it assembled with
    std::span<const uint8_t> bytes;     // of PTX: without NULs at the end
    std::shared_ptr<const void> owner;  // keeps the bytes
};

}  // namespace jali::audit

// A block mask laid out for a GPU: the arrays that kernels/device_mask.h describes, in one block of bytes, so that one
// copy uploads it.
#pragma once

#include <cstdint>
#include <vector>

#include "jali/block_mask.h"
#include "kernels/device_mask.h"

namespace jali::cuda {

struct FlatMask {
    std::vector<uint8_t> bytes;
    DeviceMask layout;  // pointers as offsets into `bytes`
};

FlatMask flatten(const BlockMask& mask);

// `layout` with its offsets moved to where the bytes lie.
DeviceMask at(const DeviceMask& layout, uint64_t address);

}  // namespace jali::cuda

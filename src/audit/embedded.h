// Fat binaries and cubins inside of other bytes: host objects, executables, libraries, anything.
#pragma once

#include <cstdint>

#include "audit/carrier.h"
#include "audit/walk.h"

namespace jali::audit {

// A range of a carrier to look through.
struct ScanRange {
    uint64_t begin = 0, end = 0;
    // In sections that are meant for device code, what begins like a fat binary and is none is a problem; elsewhere it
    // is chance.
    bool device_code = false;
};

// The ranges of a host ELF file where device code may lie, in the order of offsets and without overlap: all sections
// but machine code. All of the file where it has no section table. Throws FileError where the table is wrong.
std::vector<ScanRange> device_code_ranges(std::span<const uint8_t> bytes);

// Visits every fat binary and every bare cubin in the ranges. Pages behind are given back.
void scan(const Carrier& carrier, std::span<const ScanRange> ranges, const WalkVisitor& visitor);

}  // namespace jali::audit

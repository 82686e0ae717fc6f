// The records of .nv.info sections: what the assembler tells the driver about a module and each kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace jali::audit {

// As NVIDIA's tools name them (EIATTR_...); only those that are read.
enum class NvAttribute : uint8_t {
    kMaxThreads = 0x05,       // .maxntid: three words
    kRequiredThreads = 0x10,  // .reqntid: three words
    kFrameSize = 0x11,        // symbol, bytes
    kMinStackSize = 0x12,     // symbol, bytes with all calls
    kExitOffsets = 0x1c,
    kRegisters = 0x2f,  // symbol, count
    kIndirectBranches = 0x34,
    kApiVersion = 0x37,  // of the CUDA release that assembled it: 124 for 12.4
    kBarriers = 0x4c,
    kAnnotations = 0x55,  // pairs of words; type 1: a spill instruction at that offset
};

struct NvRecord {
    uint8_t attribute = 0;
    uint32_t value = 0;              // of records without bytes
    std::span<const uint8_t> bytes;  // of sized records

    bool is(NvAttribute wanted) const { return attribute == static_cast<uint8_t>(wanted); }
    // 32-bit words; bytes past the last whole one are left out.
    size_t words() const { return bytes.size() / 4; }
    uint32_t word(size_t index) const;  // 0 outside
};

// Throws FileError: truncated, unknown format. `what` names the section in errors.
void visit_nv_info(std::span<const uint8_t> section, std::string_view what,
                   const std::function<void(const NvRecord&)>& visit);

// What .nv.info.<kernel> says of the code in .text.<kernel>; the spans are of the file.
struct CodeInfo {
    int64_t threads_bound = 0;  // .maxntid or .reqntid, multiplied; 0 none
    int64_t barriers = 0;
    uint32_t api_version = 0;                                 // 0 unknown
    std::vector<std::span<const uint8_t>> annotations;        // bytes of the records 0x55
    std::vector<std::span<const uint8_t>> indirect_branches;  // of the records 0x34
};
CodeInfo read_code_info(std::span<const uint8_t> section, std::string_view what);

}  // namespace jali::audit

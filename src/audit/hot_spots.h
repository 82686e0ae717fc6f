// Where a kernel spills: its spill instructions gathered by the line of PTX or source that they came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

enum class LineKind {
    kSource,  // the innermost source line
    kPtx,
    kOffset,  // no line tables: bytes of code
};

struct HotSpot {
    LineKind kind = LineKind::kOffset;
    std::string file;     // of kSource
    int64_t line = 0;     // one-based, or the offset
    std::string inlined;  // "from f at a.cu:12, from g at a.cu:40": what the line was inlined into; empty otherwise
    Traffic spills;
    Traffic weighted;            // times 10^depth
    int64_t loop_depth = -1;     // of its deepest spill
    std::vector<int64_t> roles;  // indices into Kernel::roles
};

// 10^depth, at most 10^4; an unknown depth counts as none.
int64_t depth_weight(int64_t loop_depth);

// By weighted bytes, most first. `prefer` is taken where the kernel has it: else PTX lines, then offsets.
std::vector<HotSpot> hot_spots(const Kernel& kernel, LineKind prefer = LineKind::kSource);

// "compute.cu:12", "ptx 4711", "0x1a40".
std::string place_of(const HotSpot& spot);
// "role 1 (136 registers)" for each of its roles; empty where the kernel has one role only.
std::string roles_of(const HotSpot& spot, const Kernel& kernel);

}  // namespace jali::audit

// What the machine code of a kernel tells.
#pragma once

#include <cstdint>
#include <span>

#include "audit/control_flow.h"
#include "audit/nv_info.h"
#include "jali/audit.h"

namespace jali::audit {

// Indirect jumps and where they may go, of the records 0x34: {offset, a word unused, count, targets...} one after
// another. A record that is cut is left out from there on. Offsets are moved by `begin`, where the code begins in its
// section.
CodeFacts code_facts_of(const CodeInfo& info, int64_t begin);

// Fills in mix, loops, roles, load distances and serialisation, and by spill_sites (which must be there) where each
// spill lies and the traffic of loops and roles. With spill_source kOpcodes it finds the spills first: loads and stores
// of local memory by the stack pointer.
void read_code(std::span<const uint8_t> code, const CodeFacts& facts, Kernel& kernel);

}  // namespace jali::audit

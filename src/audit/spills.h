// Which instructions of a kernel spill.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audit/nv_info.h"
#include "jali/audit.h"

namespace jali::audit {

// CUDA 12.6 is the first release whose assembler annotates spills. It writes nothing where there are none, so that
// their absence means something from there on only. (Tried: 12.4.131 and 12.5.82 do not; 12.6.85, 12.8.93, 12.9.86,
// 13.0.88, 13.1.80, 13.3.73 and 13.5.37 do, for sm_80 to sm_121.)
constexpr uint32_t kFirstAnnotatingApi = 126;

// Offsets of the spill instructions that the annotations list, ascending, each once. Nothing where the assembler is too
// old to annotate, or annotates in a way that is not known.
std::optional<std::vector<int64_t>> annotated_spills(const CodeInfo& info);

// The length of the list has 16 bits: of n spills, 8,192 or more, the assembler lists the first n modulo 8,192. (Seen
// of 12.8.93, 12.9.86, 13.0.88 and 13.5.37.) The offsets that `listed`, ascending, leaves out: where all local memory
// behind the last one listed goes by the stack pointer, a multiple of 8,192 accesses of it, and all before is listed.
// Empty where the list is whole; nothing where that many are left out and arrays are among them.
std::optional<std::vector<int64_t>> spills_left_out(std::span<const uint8_t> code, const std::vector<int64_t>& listed);

// The spill at an offset of the code: a load or store of local or shared memory; nothing where there is no such
// instruction. Only what the instruction itself says is filled in.
std::optional<SpillSite> spill_at(std::span<const uint8_t> code, int64_t offset);

// Adds one site.
void add(Traffic& traffic, const SpillSite& site, int64_t times = 1);

}  // namespace jali::audit

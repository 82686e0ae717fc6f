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

// The spill at an offset of the code: a load or store of local or shared memory; nothing where there is no such
// instruction. Only what the instruction itself says is filled in.
std::optional<SpillSite> spill_at(std::span<const uint8_t> code, int64_t offset);

// Adds one site.
void add(Traffic& traffic, const SpillSite& site, int64_t times = 1);

}  // namespace jali::audit

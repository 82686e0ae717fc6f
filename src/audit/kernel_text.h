// What tables, pages and reports say of a kernel in the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

// Demangled where it can be.
const std::string& full_name(const Kernel& kernel);
// Stores and loads together.
int64_t bytes_of(const Traffic& traffic);
// The budgets that setmaxnreg sets, "24/240/240"; "-" where it sets none.
std::string budgets_text(const Kernel& kernel);

// Kinds of instructions with their counts, in the order of InstructionMix; and the uses of IMAD.
using NamedCount = std::pair<const char*, int64_t>;
std::vector<NamedCount> kinds_of(const InstructionMix& mix);
std::vector<NamedCount> imad_uses_of(const InstructionMix& mix);

// The devices that are called so, in the order of devices().
std::vector<Device> devices_named(const std::vector<std::string>& names);
// "12/64 registers": warps of those that an SM holds, and what bounds them; "-" where there is none.
std::string occupancy_text(const std::optional<Occupancy>& occupancy, const Device& device);

}  // namespace jali::audit

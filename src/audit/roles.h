// What kinds of warps a kernel has, told by their register budgets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audit/control_flow.h"

namespace jali::audit {

// The registers a thread that a setmaxnreg (USETMAXREG) sets; nothing of other instructions.
std::optional<int64_t> register_budget(const Instruction& instruction);

// A role is what can be reached from a setmaxnreg without passing another; the first role is what is reached before
// any. Where several budgets meet, the smallest wins, because the code has to live within it; where equal budgets of
// several setmaxnreg meet, they are one role. Called functions belong to the role of their callers.
//
// Each setmaxnreg begins a block. Sets the role of every block that can be reached from `entries`; returns the roles by
// begin.
std::vector<Role> find_roles(std::vector<Block>& blocks, std::span<const int64_t> entries,
                             std::span<const Instruction> code, int64_t registers);

}  // namespace jali::audit

// Instructions counted by kind.
#pragma once

#include <span>

#include "audit/sass.h"
#include "jali/audit.h"

namespace jali::audit {

// The kinds, tensor_memory, others and unknown among them, add up to the total.
InstructionMix mix_of(std::span<const Instruction> code);

}  // namespace jali::audit

// wgmma that waits one by one.
#pragma once

#include <span>

#include "audit/sass.h"

namespace jali::audit {

// Whether the machine code looks as it does where ptxas says C7510 to C7515: there are at least two wgmma, each ends a
// group of its own, and a wait for all groups follows before the next. Source code that waits for each of its wgmma
// looks the same. Only sm_90 has wgmma.
bool waits_after_every_wgmma(std::span<const Instruction> code);

}  // namespace jali::audit

// How far loads stand from what needs them.
#pragma once

#include <span>

#include "audit/sass.h"
#include "jali/audit.h"

namespace jali::audit {

// Of the loads of `memory`, kGlobal or kShared: the instructions between each and the first that waits for it, which is
// its first use or stands before that. The wait is read from the scoreboards: a load names the one that it holds until
// its result is there, and what follows names those that it waits for. Behind the end of the innermost loop around the
// load the loop begins anew; what nobody waits for inside of it is looked for behind it. Loads that nothing waits for,
// because their result goes unused, are not counted.
LoadDistance load_distance_of(std::span<const Instruction> code, std::span<const Loop> loops, InstructionKind memory);

}  // namespace jali::audit

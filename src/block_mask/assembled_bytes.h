// How large a block mask will be, before it is.
#pragma once

#include <cstdint>

#include "jali/block_mask.h"

namespace jali {

// BlockMask::bytes() of the assembled mask. Few runs by row can mean many by column (a run of many tiles in every
// second row), so this is asked before anything is derived: a run by column begins wherever a row's tile has not the
// fate of the tile above it. Rows that break an invariant give a number without meaning; assembling refuses them.
int64_t assembled_bytes(const BlockMask::Parts& parts);

}  // namespace jali

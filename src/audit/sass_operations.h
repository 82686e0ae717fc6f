// The operations of machine code by number, as observed in code of sm_80 to sm_121.
#pragma once

#include <cstdint>
#include <string_view>

#include "audit/sass.h"

namespace jali::audit {

struct Operation {
    uint16_t code = 0;  // bits 0 to 8 of an instruction
    std::string_view mnemonic;
    InstructionKind kind = InstructionKind::kUnknown;
    uint16_t from = 80, to = 999;  // architectures, where a number was given anew
};

// Null where there is none. `sm` is 90 of "sm_90a".
const Operation* find_operation(uint32_t code, int sm);

}  // namespace jali::audit

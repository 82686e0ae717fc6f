#include "audit/machine_code.h"

namespace jali::audit::test {

int64_t Assembler::add(uint64_t opcode, uint64_t guard, uint64_t low, uint64_t high) {
    Instruction instruction;
    const auto index = static_cast<int64_t>(code_.size());
    instruction.offset = index * kInstructionBytes;
    instruction.low = low | opcode | guard << 12;
    instruction.high = high;
    instruction.predicated = guard != kAlways;
    code_.push_back(instruction);
    return index;
}

int64_t Assembler::branch(uint64_t opcode, int64_t target, uint64_t guard, uint64_t low, uint64_t high) {
    const int64_t words = (target - static_cast<int64_t>(code_.size()) - 1) * kInstructionBytes / 4;
    const bool is_split = encoding_ == BranchEncoding::kSm90;
    const auto field = static_cast<uint64_t>(is_split ? words >> 8 : words);
    if (is_split) low |= (static_cast<uint64_t>(words) & 0xff) << 16;
    return add(opcode, guard, low | field << 34, high | ((field >> 30) & 0x3ffff));
}

}  // namespace jali::audit::test

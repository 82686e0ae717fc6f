// Machine code of sm_80 and later: 128-bit instructions. Names and fields as far as the audit needs them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jali::audit {

// What an instruction does, as InstructionMix counts it.
enum class InstructionKind {
    kUnknown,
    kMatrix,
    kAsyncCopy,
    kSpecial,
    kShared,
    kGlobal,
    kLocal,
    kConstant,
    kBarrier,
    kBranch,
    kMove,
    kConversion,
    kFloat,
    kInteger,
    kPredicate,
    kLogic,
    kOther,  // NOP, S2R's like: known, and none of the above
};

struct Instruction {
    int64_t offset = 0;          // bytes from the start of the code
    uint64_t low = 0, high = 0;  // the encoding
    std::string_view mnemonic;   // "IMAD", "STL"; empty where unknown. Lives as long as the program.
    InstructionKind kind = InstructionKind::kUnknown;
    bool predicated = false;  // guarded by a predicate other than PT

    uint32_t opcode() const { return static_cast<uint32_t>(low & 0xfff); }
};

// Decodes whole instructions; code whose size is no multiple of 16 bytes throws FileError. `arch` is "sm_90a".
std::vector<Instruction> decode(std::span<const uint8_t> code, std::string_view arch);

// Of a load or store: bytes that a thread moves.
int64_t access_bytes(const Instruction& instruction);

}  // namespace jali::audit

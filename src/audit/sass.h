// Machine code of sm_80 and later: 128-bit instructions. Names and fields as far as the audit needs them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jali::audit {

// What an instruction does, as InstructionMix counts it. Where the same operation does several things, the operands
// decide: IMAD and HFMA2 that multiply zeros are moves, IMAD by a power of two and no addend is a shift.
enum class InstructionKind {
    kUnknown,
    kMatrix,
    kAsyncCopy,
    kSpecial,
    kShared,
    kGlobal,  // with generic addresses, textures, surfaces and multicast memory
    kLocal,
    kConstant,
    kTensorMemory,
    kBarrier,
    kBranch,
    kMove,
    kConversion,
    kFloat,
    kInteger,
    kPredicate,
    kLogic,
    kOther,  // NOP, CCTL, USETMAXREG and their like: known, and none of the above
};

struct Instruction {
    int64_t offset = 0;          // bytes from the start of the code
    uint64_t low = 0, high = 0;  // the encoding
    std::string_view mnemonic;   // "IMAD", "STL"; empty where unknown. Lives as long as the program.
    InstructionKind kind = InstructionKind::kUnknown;
    bool predicated = false;  // guarded by a predicate other than PT
    uint16_t sm = 0;          // 90 of "sm_90a"

    uint32_t opcode() const { return static_cast<uint32_t>(low & 0xfff); }  // operation and form of the operands
    uint32_t operation() const { return static_cast<uint32_t>(low & 0x1ff); }
};

// `count` bits, fewer than 64, from bit `first`, counted over both words; no field crosses them.
inline uint64_t bits(const Instruction& instruction, unsigned first, unsigned count) {
    const uint64_t word = first < 64 ? instruction.low >> first : instruction.high >> (first - 64);
    return word & ((uint64_t{1} << count) - 1);
}

// Decodes whole instructions. `arch` is "sm_90a". Throws FileError: older than sm_80, no architecture, code whose size
// is no multiple of 16 bytes. An operation that nobody has seen yet gets no name and the kind kUnknown.
std::vector<Instruction> decode(std::span<const uint8_t> code, std::string_view arch);

// Of a load or store of local, shared, global, constant or generic memory, of LDGSTS, LDSM and STSM: bytes that a
// thread moves. 0 for others, atomics and bulk copies among them.
int64_t access_bytes(const Instruction& instruction);

// What an IMAD is used for; kNotImad for other operations.
enum class ImadUse { kNotImad, kMove, kShift, kAdd, kWide, kProduct };
ImadUse imad_use(const Instruction& instruction);

}  // namespace jali::audit

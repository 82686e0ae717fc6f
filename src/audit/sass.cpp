#include "audit/sass.h"

#include <bit>
#include <cstring>

#include "audit/arch.h"
#include "audit/sass_operations.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr size_t kInstructionBytes = 16;
constexpr uint64_t kRZ = 255;  // the register that is zero

int readable_number(std::string_view arch) {
    const int number = arch_number(arch);
    if (number < kFirstArchRead || number > 999)
        throw FileError("Machine code of \"" + std::string(arch) + "\" is not read; sm_80 and later is");
    return number;
}

// Whether both factors of a multiply-add are zero registers. Where the factor or the addend is no register, the other
// of the two is at bit 64.
bool adds_only(const Instruction& instruction) {
    if (bits(instruction, 24, 8) != kRZ) return false;
    switch (instruction.opcode() >> 9) {
        case 1:
            return bits(instruction, 32, 8) == kRZ;
        case 2:
        case 3:
        case 7:
            return bits(instruction, 64, 8) == kRZ;
        default:
            return true;  // zero times something else
    }
}

// Operations of which modifiers decide the name.
std::string_view name_by_modifiers(const Instruction& instruction, std::string_view name) {
    const uint32_t form = instruction.opcode() >> 9;
    switch (instruction.operation()) {
        case 0x1ab:
            return form == 2 ? "CGAERRBAR" : name;
        case 0x1c7:
            return form == 6 ? "UCGABAR_WAIT" : name;
        case 0x1ea:
            switch (bits(instruction, 72, 2)) {
                case 1:
                    return "UTCIMMA";
                case 3:
                    return "UTCQMMA";
                default:
                    return bits(instruction, 63, 1) != 0 ? "UTCOMMA" : name;
            }
        default:
            return name;
    }
}

InstructionKind kind_by_operands(const Instruction& instruction, InstructionKind kind) {
    switch (imad_use(instruction)) {
        case ImadUse::kMove:
            return InstructionKind::kMove;
        case ImadUse::kShift:
            return InstructionKind::kLogic;
        case ImadUse::kNotImad:
            break;
        default:
            return kind;
    }
    // UIMAD without factors, and HFMA2 of two zeros, by which the assembler moves a constant.
    const bool moves = instruction.operation() == 0x0a4 || instruction.mnemonic == "HFMA2";
    return moves && adds_only(instruction) ? InstructionKind::kMove : kind;
}

}  // namespace

std::vector<Instruction> decode(std::span<const uint8_t> code, std::string_view arch) {
    const int sm = readable_number(arch);
    if (code.size() % kInstructionBytes != 0)
        throw FileError("Machine code has " + std::to_string(code.size()) + " bytes, which is no multiple of " +
                        std::to_string(kInstructionBytes));
    std::vector<Instruction> instructions(code.size() / kInstructionBytes);
    for (size_t i = 0; i < instructions.size(); ++i) {
        Instruction& instruction = instructions[i];
        const uint8_t* bytes = code.data() + i * kInstructionBytes;
        std::memcpy(&instruction.low, bytes, sizeof instruction.low);
        std::memcpy(&instruction.high, bytes + sizeof instruction.low, sizeof instruction.high);
        instruction.offset = static_cast<int64_t>(i * kInstructionBytes);
        instruction.sm = static_cast<uint16_t>(sm);
        instruction.predicated = bits(instruction, 12, 4) != 7;
        const Operation* operation = find_operation(instruction.operation(), sm);
        if (operation == nullptr) continue;
        instruction.mnemonic = name_by_modifiers(instruction, operation->mnemonic);
        instruction.kind = kind_by_operands(instruction, operation->kind);
    }
    return instructions;
}

int64_t access_bytes(const Instruction& instruction) {
    constexpr int64_t kBytes[] = {1, 1, 2, 2, 4, 8, 16, 0};
    switch (instruction.operation()) {
        case 0x180:  // LD
        case 0x181:  // LDG
        case 0x182:  // LDC
        case 0x183:  // LDL
        case 0x184:  // LDS
        case 0x185:  // ST
        case 0x186:  // STG
        case 0x187:  // STL
        case 0x188:  // STS
        case 0x1ac:  // LDCU
        case 0x0b9:  // ULDC
        case 0x0bb:  // ULDC of a bindless constant
            return kBytes[bits(instruction, 73, 3)];
        case 0x17e:  // LDG of two times four registers
        case 0x17f:  // STG
            return 32;
        case 0x1ae:  // LDGSTS
            return instruction.sm >= 100 ? int64_t{4} << bits(instruction, 74, 2) : kBytes[bits(instruction, 73, 3)];
        case 0x03b:    // LDSM: one, two or four matrices, each a register; 16 x 16 bytes are two
        case 0x044: {  // STSM
            const int64_t bytes = int64_t{4} << bits(instruction, 72, 2);
            return bits(instruction, 75, 3) == 7 ? 2 * bytes : bytes;
        }
        default:
            return 0;
    }
}

ImadUse imad_use(const Instruction& instruction) {
    constexpr uint32_t kImad = 0x024, kImadWide = 0x025, kImadHigh = 0x027;
    if (instruction.operation() == kImadWide) return ImadUse::kWide;
    if (instruction.operation() == kImadHigh) return ImadUse::kProduct;
    if (instruction.operation() != kImad) return ImadUse::kNotImad;
    const bool with_carry = bits(instruction, 74, 1) != 0;
    const bool is_by_number = (instruction.opcode() >> 9) == 4;
    const uint64_t factor = bits(instruction, 32, 32);
    if (adds_only(instruction)) return with_carry ? ImadUse::kAdd : ImadUse::kMove;
    if (is_by_number && factor == 1) return ImadUse::kAdd;
    if (is_by_number && std::has_single_bit(factor) && bits(instruction, 64, 8) == kRZ) return ImadUse::kShift;
    return ImadUse::kProduct;
}

}  // namespace jali::audit

#include "audit/branch.h"

namespace jali::audit {
namespace {

// The low 12 bits; the upper 4 of them say where operands are.
enum Opcode : uint32_t {
    kCallRegister = 0x344,
    kCallAbsoluteRegister = 0x343,
    kBranchUniform = 0x547,
    kCallAbsolute = 0x943,
    kCallRelative = 0x944,
    kBranch = 0x947,
    kIndirectBranch = 0x949,
    kJump = 0x94a,
    kIndirectJump = 0x94c,
    kExit = 0x94d,
    kReturn = 0x950,
    kIndirectBranchUniform = 0x958,
    kIndirectJumpUniform = 0x959,
    kKill = 0x95b,
};

constexpr uint64_t kTrue = 7;    // PT and UPT
constexpr uint64_t kNever = 15;  // !PT

bool has_displacement(uint32_t opcode) {
    return opcode == kBranch || opcode == kBranchUniform || opcode == kCallRelative;
}

// From the end of the instruction, in bytes: 48 bits at bit 34 count words.
int64_t displacement(const Instruction& instruction, BranchEncoding encoding) {
    const uint64_t field = (instruction.low >> 34) | (bits(instruction, 64, 18) << 30);
    const int64_t words = static_cast<int64_t>(field << 16) >> 16;
    if (encoding == BranchEncoding::kSm80) return words * 4;
    return words * 1024 + static_cast<int64_t>(bits(instruction, 16, 8)) * 4;
}

// Of three: the guard, a second predicate, and in the uniform form a uniform one. Modes that ask whether threads
// diverge (.DIV, .CONV) are conditions, too.
struct Condition {
    bool always = true, never = false;

    void add(uint64_t predicate) {
        always = always && predicate == kTrue;
        never = never || predicate == kNever;
    }
};

Condition condition_of(const Instruction& instruction) {
    Condition condition;
    condition.add(bits(instruction, 12, 4));
    switch (instruction.opcode()) {
        case kBranchUniform:
            condition.add(bits(instruction, 24, 4));
            [[fallthrough]];
        case kBranch:
        case kExit:
        case kReturn:
        case kIndirectBranch:
        case kIndirectBranchUniform:
        case kCallRelative:
        case kCallAbsolute:
            condition.add(bits(instruction, 87, 4));
            break;
        default:
            break;
    }
    const bool asks_whether_diverged = bits(instruction, 32, 2) > 1;
    if (instruction.opcode() == kBranch && asks_whether_diverged) condition.always = false;
    return condition;
}

BranchKind kind_of(uint32_t opcode) {
    switch (opcode) {
        case kBranch:
        case kBranchUniform:
        case kJump:
            return BranchKind::kJump;
        case kIndirectBranch:
        case kIndirectJump:
        case kIndirectBranchUniform:
        case kIndirectJumpUniform:
            return BranchKind::kIndirect;
        case kCallRegister:
        case kCallAbsoluteRegister:
        case kCallAbsolute:
        case kCallRelative:
            return BranchKind::kCall;
        case kExit:
        case kReturn:
        case kKill:
            return BranchKind::kEnd;
        default:
            return BranchKind::kNone;
    }
}

}  // namespace

BranchEncoding branch_encoding_of(std::span<const Instruction> code) {
    for (const Instruction& instruction : code) {
        if (has_displacement(instruction.opcode()) && bits(instruction, 16, 8) != 0) return BranchEncoding::kSm90;
    }
    return BranchEncoding::kSm80;
}

Branch branch_of(const Instruction& instruction, BranchEncoding encoding) {
    const Condition condition = condition_of(instruction);
    Branch branch;
    branch.kind = kind_of(instruction.opcode());
    if (branch.kind == BranchKind::kNone || condition.never) return {};
    branch.conditional = !condition.always;
    if (has_displacement(instruction.opcode()))
        branch.target = instruction.offset + kInstructionBytes + displacement(instruction, encoding);
    if (branch.kind == BranchKind::kCall && branch.conditional && branch.target) branch.kind = BranchKind::kJump;
    return branch;
}

}  // namespace jali::audit

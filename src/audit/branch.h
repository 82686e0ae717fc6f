// What an instruction does to the flow of control, from its encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "audit/sass.h"

namespace jali::audit {

constexpr int64_t kInstructionBytes = 16;

enum class BranchKind {
    kNone,      // the next instruction follows
    kJump,      // goes to its target
    kIndirect,  // goes where a register says: BRX, JMX and their uniform forms
    kCall,      // goes to its target and comes back to the next instruction
    kEnd,       // EXIT, RET, KILL
};

struct Branch {
    BranchKind kind = BranchKind::kNone;
    bool conditional = false;       // may also go on to the next instruction: a guard or another predicate
    std::optional<int64_t> target;  // offset; of a jump or call that names it. Nothing says that it lies in the code
};

// Displacements of jumps are encoded in two ways, and this tells which: from sm_90 on their low bits are in bits 16-23,
// which hold zeros before.
enum class BranchEncoding { kSm80, kSm90 };
BranchEncoding branch_encoding_of(std::span<const Instruction> code);

// BSSY, BSYNC, BREAK and WARPSYNC (.COLLECTIVE too, which jumps over what follows until its ENDCOLLECTIVE) hold threads
// back and let the next instruction follow: a BSYNC lies right before the place that its BSSY names. BPT.TRAP counts as
// going on. A CALL under a predicate is a conditional jump: nothing comes back from where compilers write it, at the
// ends of loops.
Branch branch_of(const Instruction& instruction, BranchEncoding encoding);

}  // namespace jali::audit

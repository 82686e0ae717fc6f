// The control flow of a kernel's machine code: blocks, loops, roles.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "audit/sass.h"
#include "jali/audit.h"

namespace jali::audit {

struct Block {
    int64_t begin = 0, end = 0;       // indices of instructions
    std::vector<int64_t> successors;  // within the function: a call goes on behind itself, a return nowhere
    int64_t callee = -1;              // the block that a call at the end of this one enters, where known
    int64_t loop_depth = -1;          // -1: not reachable
    int64_t role = -1;                // index into ControlFlow::roles; -1: not reachable
    int64_t loop = -1;                // index into ControlFlow::loops of the innermost around it; -1: none
};

// What the file says beside the code.
struct CodeFacts {
    std::map<int64_t, std::vector<int64_t>> indirect_targets;  // offset of a BRX/JMX -> offsets it may go to
    std::vector<int64_t> entries = {0};  // offsets where execution may begin (functions in the same section)
};

struct ControlFlow {
    std::vector<Block> blocks;      // by begin
    std::vector<int64_t> block_of;  // instruction index -> block index
    std::vector<Loop> loops;        // by begin; their Traffic is empty
    std::vector<int64_t> outer;     // of each loop, the index of the one around it; -1: none
    std::vector<Role> roles;        // by begin; their Traffic is empty
};

// `registers` is the kernel's register count: the budget before any setmaxnreg (USETMAXREG). Time and memory are linear
// in the code. An indirect jump that `facts` know no targets of leads nowhere, and so does a jump out of the code; what
// only they reach is not reachable here. loops.h and roles.h say what loops and roles are.
ControlFlow control_flow_of(std::span<const Instruction> code, const CodeFacts& facts, int64_t registers);

}  // namespace jali::audit

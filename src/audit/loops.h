// Loops of machine code and how deep each block lies in them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/control_flow.h"

namespace jali::audit {

// Deeper nesting counts as this deep; real kernels have a handful of levels.
constexpr int64_t kMostLoopDepth = 32;

// A loop is a strongly connected part of the blocks; its headers are the blocks that can be entered from outside of it.
// Without the jumps back to the headers, the strongly connected parts that are left are the loops inside. So natural
// loops of one header are one loop, and a region with several entries (irreducible) is one loop, too. A function that
// is called from loops lies as deep as its deepest call, wherever its code is; its instructions do not count as the
// caller's. Instructions and branches are those of the loop's blocks, inner loops included; its end is past the last
// jump back to its header (past its last block where all of those lie before it), so that cold code that the assembler
// has put elsewhere does not stretch it.
//
// `entries` are the blocks where execution may begin. Sets loop_depth and loop of every block; returns the loops by
// begin, outer ones first, each with the role of its header.
struct LoopNest {
    std::vector<Loop> loops;
    std::vector<int64_t> outer;  // of each, the index of the loop around it; -1: none
};
LoopNest find_loops(std::vector<Block>& blocks, std::span<const int64_t> entries, std::span<const Instruction> code);

}  // namespace jali::audit

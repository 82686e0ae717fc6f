// Machine code for tests, written as encodings.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/branch.h"
#include "audit/sass.h"

namespace jali::audit::test {

constexpr uint64_t kAlways = 7;

// Appends instructions; targets are given as indices of instructions, also of later ones.
class Assembler {
   public:
    explicit Assembler(BranchEncoding encoding = BranchEncoding::kSm90) : encoding_(encoding) {}

    // Of `opcode` under `guard` (0-6 predicates, 7 none, 8 more negates). Returns its index.
    int64_t add(uint64_t opcode, uint64_t guard = kAlways, uint64_t low = 0, uint64_t high = 0);
    int64_t nop() { return add(0x918); }
    int64_t exit(uint64_t guard = kAlways) { return add(0x94d, guard, 0, kSecondAlways); }
    int64_t ret() { return add(0x950, kAlways, 0, kSecondAlways); }
    int64_t jump(int64_t target, uint64_t guard = kAlways) { return branch(0x947, target, guard, 0, kSecondAlways); }
    // BRA P, target: the second predicate.
    int64_t jump_second(int64_t target, uint64_t predicate) {
        return branch(0x947, target, kAlways, 0, predicate << 23);
    }
    // BRA.U UP, target
    int64_t jump_uniform(int64_t target, uint64_t predicate) {
        return branch(0x547, target, kAlways, predicate << 24 | uint64_t{1} << 32, kSecondAlways | 1ULL << 27);
    }
    // BRA.DIV UR, target
    int64_t jump_diverged(int64_t target) {
        return branch(0x947, target, kAlways, uint64_t{2} << 32 | uint64_t{0x3f} << 24, kSecondAlways | 1ULL << 27);
    }
    int64_t indirect() { return add(0x949, kAlways, uint64_t{4} << 24, kSecondAlways); }
    int64_t call(int64_t target, uint64_t guard = kAlways) { return branch(0x944, target, guard, 0, kSecondAlways); }
    int64_t call_register() { return add(0x344, kAlways, uint64_t{2} << 24, kSecondAlways); }
    int64_t set_registers(uint64_t count) { return add(0x9c8, kAlways, count << 32); }

    const std::vector<Instruction>& code() const { return code_; }

   private:
    static constexpr uint64_t kSecondAlways = uint64_t{7} << 23;

    int64_t branch(uint64_t opcode, int64_t target, uint64_t guard, uint64_t low, uint64_t high);

    BranchEncoding encoding_;
    std::vector<Instruction> code_;
};

}  // namespace jali::audit::test

// A predicate compiled for one (b, h): a flat list of instructions, operands first, shared sub-expressions once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jali/predicate.h"
#include "mask/interval.h"

namespace jali {

// value = q * per_q + kv * per_kv + constant, known to be exact and free of failures over the whole domain.
struct Affine {
    int64_t per_q = 0;
    int64_t per_kv = 0;
    int64_t constant = 0;
};

struct Instruction {
    Op op;
    ValueType type;
    bool uses_q = false;
    bool uses_kv = false;
    bool is_affine = false;        // `affine` is this instruction's value
    bool compares_affine = false;  // a comparison whose sides differ by `affine`: compare it with 0
    int64_t value = 0;             // kConstant
    Affine affine{};
    const Table::Storage* table = nullptr;  // kRead
    std::vector<int32_t> operands{};
};

struct Program {
    std::vector<Instruction> instructions;  // the last one is the predicate's value
    Predicate predicate;                    // keeps the tables alive
    Domain domain;
};

// The constants b and h are put in, and what is constant over the domain is folded.
Program compile(const Predicate& keep, const Domain& domain, int64_t b, int64_t h);

}  // namespace jali

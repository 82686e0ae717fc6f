#include "audit/instruction_mix.h"

namespace jali::audit {
namespace {

int64_t InstructionMix::*counter_of(InstructionKind kind) {
    switch (kind) {
        case InstructionKind::kUnknown:
            return &InstructionMix::unknown;
        case InstructionKind::kMatrix:
            return &InstructionMix::matrix;
        case InstructionKind::kAsyncCopy:
            return &InstructionMix::async_copies;
        case InstructionKind::kSpecial:
            return &InstructionMix::special;
        case InstructionKind::kShared:
            return &InstructionMix::shared;
        case InstructionKind::kGlobal:
            return &InstructionMix::global;
        case InstructionKind::kLocal:
            return &InstructionMix::local;
        case InstructionKind::kConstant:
            return &InstructionMix::constant;
        case InstructionKind::kTensorMemory:
            return &InstructionMix::tensor_memory;
        case InstructionKind::kBarrier:
            return &InstructionMix::barriers;
        case InstructionKind::kBranch:
            return &InstructionMix::branches;
        case InstructionKind::kMove:
            return &InstructionMix::moves;
        case InstructionKind::kConversion:
            return &InstructionMix::conversions;
        case InstructionKind::kFloat:
            return &InstructionMix::floats;
        case InstructionKind::kInteger:
            return &InstructionMix::integers;
        case InstructionKind::kPredicate:
            return &InstructionMix::predicates;
        case InstructionKind::kLogic:
            return &InstructionMix::logic;
        case InstructionKind::kOther:
            return &InstructionMix::others;
    }
    return &InstructionMix::unknown;
}

int64_t InstructionMix::*counter_of(ImadUse use) {
    switch (use) {
        case ImadUse::kMove:
            return &InstructionMix::imad_mov;
        case ImadUse::kShift:
            return &InstructionMix::imad_shl;
        case ImadUse::kAdd:
            return &InstructionMix::imad_iadd;
        case ImadUse::kWide:
            return &InstructionMix::imad_wide;
        case ImadUse::kProduct:
            return &InstructionMix::imad;
        case ImadUse::kNotImad:
            break;
    }
    return nullptr;
}

}  // namespace

InstructionMix mix_of(std::span<const Instruction> code) {
    InstructionMix mix;
    mix.total = static_cast<int64_t>(code.size());
    for (const Instruction& instruction : code) {
        ++(mix.*counter_of(instruction.kind));
        if (const auto imad = counter_of(imad_use(instruction)); imad != nullptr) ++(mix.*imad);
    }
    return mix;
}

}  // namespace jali::audit

#include "mask/node.h"

namespace jali {

std::string_view name_of(Op op) {
    switch (op) {
        case Op::kConstant:
            return "a constant";
        case Op::kScalar:
            return "a scalar";
        case Op::kIndexB:
            return "b";
        case Op::kIndexH:
            return "h";
        case Op::kIndexQ:
            return "q";
        case Op::kIndexKv:
            return "kv";
        case Op::kQLen:
            return "q_len";
        case Op::kKvLen:
            return "kv_len";
        case Op::kRead:
            return "[ ]";
        case Op::kNegate:
        case Op::kSubtract:
            return "-";
        case Op::kInvert:
        case Op::kLogicalNot:
            return "~";
        case Op::kAbs:
            return "abs";
        case Op::kAdd:
            return "+";
        case Op::kMultiply:
            return "*";
        case Op::kFloorDivide:
            return "//";
        case Op::kFloorModulo:
            return "%";
        case Op::kShiftLeft:
            return "<<";
        case Op::kShiftRight:
            return ">>";
        case Op::kBitAnd:
        case Op::kLogicalAnd:
            return "&";
        case Op::kBitOr:
        case Op::kLogicalOr:
            return "|";
        case Op::kBitXor:
        case Op::kLogicalXor:
            return "^";
        case Op::kLess:
            return "<";
        case Op::kLessEqual:
            return "<=";
        case Op::kGreater:
            return ">";
        case Op::kGreaterEqual:
            return ">=";
        case Op::kEqual:
            return "==";
        case Op::kNotEqual:
            return "!=";
        case Op::kAnd:
            return "and";
        case Op::kOr:
            return "or";
        case Op::kNot:
            return "not";
        case Op::kChoice:
            return "if else";
        case Op::kWhere:
            return "where";
        case Op::kMinimum:
            return "min";
        case Op::kMaximum:
            return "max";
        case Op::kClamp:
            return "clamp";
    }
    return "?";
}

}  // namespace jali

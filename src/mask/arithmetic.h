// Integer arithmetic of the predicate language on single values: Python's meaning, 64 bits, every failure noticed.
#pragma once

#include <cstdint>
#include <limits>

#include "jali/predicate.h"

namespace jali {

enum class Failure : uint8_t { kNone, kOverflow, kDivisionByZero, kNegativeShift, kOutOfRange };

inline constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

inline int64_t floor_quotient(int64_t x, int64_t y) {
    const int64_t quotient = x / y;
    return (x % y != 0 && (x < 0) != (y < 0)) ? quotient - 1 : quotient;
}

inline int64_t floor_remainder(int64_t x, int64_t y) {
    if (y == -1) return 0;  // x % -1 traps in C++ for the lowest x
    const int64_t remainder = x % y;
    return (remainder != 0 && (remainder < 0) != (y < 0)) ? remainder + y : remainder;
}

inline Failure checked_shift_left(int64_t x, int64_t count, int64_t& result) {
    if (count < 0) return Failure::kNegativeShift;
    if (x == 0) {
        result = 0;
        return Failure::kNone;
    }
    if (count > 62) {
        // Only -1 << 63 still fits.
        if (x != -1 || count != 63) return Failure::kOverflow;
        result = kLowest;
        return Failure::kNone;
    }
    return __builtin_mul_overflow(x, int64_t{1} << count, &result) ? Failure::kOverflow : Failure::kNone;
}

inline Failure checked_shift_right(int64_t x, int64_t count, int64_t& result) {
    if (count < 0) return Failure::kNegativeShift;
    result = x >> (count > 63 ? 63 : count);
    return Failure::kNone;
}

// Applies a unary or binary operation on integers (booleans as 0 and 1). `y` is ignored by unary ones. The result is
// defined only where Failure::kNone is returned.
inline Failure apply(Op op, int64_t x, int64_t y, int64_t& result) {
    switch (op) {
        case Op::kNegate:
            return __builtin_sub_overflow(int64_t{0}, x, &result) ? Failure::kOverflow : Failure::kNone;
        case Op::kInvert:
            result = ~x;
            return Failure::kNone;
        case Op::kAbs:
            if (x == kLowest) return Failure::kOverflow;
            result = x < 0 ? -x : x;
            return Failure::kNone;
        case Op::kAdd:
            return __builtin_add_overflow(x, y, &result) ? Failure::kOverflow : Failure::kNone;
        case Op::kSubtract:
            return __builtin_sub_overflow(x, y, &result) ? Failure::kOverflow : Failure::kNone;
        case Op::kMultiply:
            return __builtin_mul_overflow(x, y, &result) ? Failure::kOverflow : Failure::kNone;
        case Op::kFloorDivide:
            if (y == 0) return Failure::kDivisionByZero;
            if (x == kLowest && y == -1) return Failure::kOverflow;
            result = floor_quotient(x, y);
            return Failure::kNone;
        case Op::kFloorModulo:
            if (y == 0) return Failure::kDivisionByZero;
            result = floor_remainder(x, y);
            return Failure::kNone;
        case Op::kShiftLeft:
            return checked_shift_left(x, y, result);
        case Op::kShiftRight:
            return checked_shift_right(x, y, result);
        case Op::kBitAnd:
        case Op::kLogicalAnd:
            result = x & y;
            return Failure::kNone;
        case Op::kBitOr:
        case Op::kLogicalOr:
            result = x | y;
            return Failure::kNone;
        case Op::kBitXor:
        case Op::kLogicalXor:
            result = x ^ y;
            return Failure::kNone;
        case Op::kLogicalNot:
        case Op::kNot:
            result = x == 0 ? 1 : 0;
            return Failure::kNone;
        case Op::kLess:
            result = x < y ? 1 : 0;
            return Failure::kNone;
        case Op::kLessEqual:
            result = x <= y ? 1 : 0;
            return Failure::kNone;
        case Op::kGreater:
            result = x > y ? 1 : 0;
            return Failure::kNone;
        case Op::kGreaterEqual:
            result = x >= y ? 1 : 0;
            return Failure::kNone;
        case Op::kEqual:
            result = x == y ? 1 : 0;
            return Failure::kNone;
        case Op::kNotEqual:
            result = x != y ? 1 : 0;
            return Failure::kNone;
        case Op::kMinimum:
            result = x < y ? x : y;
            return Failure::kNone;
        case Op::kMaximum:
            result = x > y ? x : y;
            return Failure::kNone;
        default:
            return Failure::kOverflow;  // not a unary or binary operation: callers never ask
    }
}

}  // namespace jali

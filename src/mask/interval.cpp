#include "mask/interval.h"

#include <algorithm>
#include <array>
#include <bit>

#include "mask/program.h"
#include "mask/table_storage.h"

namespace jali {

namespace {

__extension__ using Wide = __int128;

// Reads of a table of rank 2 or more look at this many index combinations of the leading dimensions; beyond that the
// range of the whole table serves as a bound, and the region is split before it is asked again.
constexpr int64_t kLeadingCombinations = 256;

constexpr Interval kAnyBoolean{0, 1, false};

// Bounds that may lie outside 64 bits: values there fail, the others lie in the clamped bounds.
Interval narrowed(Wide lo, Wide hi, bool may_fail) {
    if (lo < kLowest || hi > kHighest) may_fail = true;
    const auto clamp_wide = [](Wide x) {
        return static_cast<int64_t>(std::clamp(x, static_cast<Wide>(kLowest), static_cast<Wide>(kHighest)));
    };
    return {clamp_wide(lo), clamp_wide(hi), may_fail};
}

Interval boolean(bool can_be_false, bool can_be_true, bool may_fail) {
    return {can_be_false ? 0 : 1, can_be_true ? 1 : 0, may_fail};
}

Interval hull(const Interval& x, const Interval& y) {
    return {std::min(x.lo, y.lo), std::max(x.hi, y.hi), x.may_fail || y.may_fail};
}

Interval multiply(const Interval& x, const Interval& y, bool may_fail) {
    const Wide a = Wide{x.lo} * y.lo, b = Wide{x.lo} * y.hi, c = Wide{x.hi} * y.lo, d = Wide{x.hi} * y.hi;
    return narrowed(std::min({a, b, c, d}), std::max({a, b, c, d}), may_fail);
}

Wide floor_quotient_wide(Wide x, Wide y) {
    const Wide quotient = x / y;
    return (x % y != 0 && (x < 0) != (y < 0)) ? quotient - 1 : quotient;
}

Interval floor_divide(const Interval& x, const Interval& y, bool may_fail) {
    if (y.lo == 0 && y.hi == 0) return {0, 0, true};
    Wide lo = 0, hi = 0;
    bool first = true;
    const auto corner = [&](int64_t numerator, int64_t denominator) {
        const Wide quotient = floor_quotient_wide(numerator, denominator);
        lo = first ? quotient : std::min(lo, quotient);
        hi = first ? quotient : std::max(hi, quotient);
        first = false;
    };
    // The quotient is monotone in each operand where the denominator keeps its sign.
    const auto part = [&](int64_t from, int64_t to) {
        if (from > to) return;
        for (const int64_t denominator : {from, to}) {
            corner(x.lo, denominator);
            corner(x.hi, denominator);
        }
    };
    part(std::max<int64_t>(y.lo, 1), y.hi);
    part(y.lo, std::min<int64_t>(y.hi, -1));
    return narrowed(lo, hi, may_fail || (y.lo <= 0 && y.hi >= 0));
}

Interval floor_modulo(const Interval& x, const Interval& y, bool may_fail) {
    may_fail = may_fail || (y.lo <= 0 && y.hi >= 0);
    if (y.lo == 0 && y.hi == 0) return {0, 0, true};
    if (y.single()) {
        // Within one period the remainder grows with x.
        const int64_t divisor = y.lo;
        if (floor_quotient_wide(x.lo, divisor) == floor_quotient_wide(x.hi, divisor)) {
            return {floor_remainder(x.lo, divisor), floor_remainder(x.hi, divisor), may_fail};
        }
    }
    Interval result{0, 0, may_fail};
    if (y.hi > 0) result.hi = x.lo >= 0 ? std::min(y.hi - 1, x.hi) : y.hi - 1;
    if (y.lo < 0) result.lo = x.hi <= 0 ? std::max(y.lo + 1, x.lo) : y.lo + 1;
    return result;
}

Interval shift_left(const Interval& x, const Interval& count, bool may_fail) {
    may_fail = may_fail || count.lo < 0;
    if (count.hi < 0) return {0, 0, true};
    // Shifts by 64 and more overflow just as those by 64 do, unless x is 0.
    const int64_t least = std::clamp<int64_t>(count.lo, 0, 64), most = std::min<int64_t>(count.hi, 64);
    const auto scaled = [](int64_t value, int64_t by) { return Wide{value} * (Wide{1} << static_cast<int>(by)); };
    return narrowed(std::min(scaled(x.lo, least), scaled(x.lo, most)),
                    std::max(scaled(x.hi, least), scaled(x.hi, most)), may_fail);
}

Interval shift_right(const Interval& x, const Interval& count, bool may_fail) {
    may_fail = may_fail || count.lo < 0;
    if (count.hi < 0) return {0, 0, true};
    const int64_t least = std::clamp<int64_t>(count.lo, 0, 63), most = std::min<int64_t>(count.hi, 63);
    return {std::min(x.lo >> least, x.lo >> most), std::max(x.hi >> least, x.hi >> most), may_fail};
}

// All values of an interval lie in [-2^k, 2^k): the k that serves both operands.
int bits_for(const Interval& x) {
    const auto width = [](int64_t value) {
        return static_cast<int>(std::bit_width(static_cast<uint64_t>(value < 0 ? ~value : value)));
    };
    return std::max(width(x.lo), width(x.hi));
}

Interval bit_operation(Op op, const Interval& x, const Interval& y, bool may_fail) {
    if (x.single() && y.single()) {
        int64_t value = 0;
        apply(op, x.lo, y.lo, value);
        return {value, value, may_fail};
    }
    // x & (2^n - 1) is x % 2^n, and x & -(2^n) rounds down to a multiple of 2^n, which keeps the order.
    if (op == Op::kBitAnd && (x.single() || y.single())) {
        const Interval& other = x.single() ? y : x;
        const int64_t pattern = x.single() ? x.lo : y.lo;
        if (pattern >= 0 && pattern < kHighest && std::has_single_bit(static_cast<uint64_t>(pattern) + 1)) {
            return floor_modulo(other, {pattern + 1, pattern + 1, false}, may_fail);
        }
        if (pattern < 0 && std::has_single_bit(static_cast<uint64_t>(~pattern) + 1)) {
            return {other.lo & pattern, other.hi & pattern, may_fail};
        }
    }
    const int bits = std::max(bits_for(x), bits_for(y));
    const auto top = static_cast<int64_t>((uint64_t{1} << bits) - 1);  // bits is at most 63
    Interval result{-top - 1, top, may_fail};
    const bool x_positive = x.lo >= 0, y_positive = y.lo >= 0;
    if (op == Op::kBitAnd) {
        if (x_positive) result = {0, x.hi, may_fail};
        if (y_positive) result = {0, x_positive ? std::min(x.hi, y.hi) : y.hi, may_fail};
    } else if (x_positive && y_positive) {
        result.lo = op == Op::kBitOr ? std::max(x.lo, y.lo) : 0;
    }
    return result;
}

Interval absolute(const Interval& x, bool may_fail) {
    const Wide lo = x.lo, hi = x.hi;
    if (lo >= 0) return {x.lo, x.hi, may_fail};
    if (hi <= 0) return narrowed(-hi, -lo, may_fail);
    return narrowed(0, std::max(-lo, hi), may_fail);
}

Interval compare(Op op, const Interval& x, const Interval& y, bool may_fail) {
    switch (op) {
        case Op::kLess:
            return boolean(x.hi >= y.lo, x.lo < y.hi, may_fail);
        case Op::kLessEqual:
            return boolean(x.hi > y.lo, x.lo <= y.hi, may_fail);
        case Op::kGreater:
            return boolean(x.lo <= y.hi, x.hi > y.lo, may_fail);
        case Op::kGreaterEqual:
            return boolean(x.lo < y.hi, x.hi >= y.lo, may_fail);
        default: {
            const bool may_be_equal = x.lo <= y.hi && y.lo <= x.hi;
            const bool may_differ = !(x.single() && y.single() && x.lo == y.lo);
            return op == Op::kEqual ? boolean(may_differ, may_be_equal, may_fail)
                                    : boolean(may_be_equal, may_differ, may_fail);
        }
    }
}

Interval logical(Op op, const Interval& x, const Interval& y) {
    const bool strict = x.may_fail || y.may_fail;
    switch (op) {
        case Op::kAnd:
            return {x.lo & y.lo, x.hi & y.hi, x.may_fail || (x.hi != 0 && y.may_fail)};
        case Op::kOr:
            return {x.lo | y.lo, x.hi | y.hi, x.may_fail || (x.lo == 0 && y.may_fail)};
        case Op::kLogicalAnd:
            return {x.lo & y.lo, x.hi & y.hi, strict};
        case Op::kLogicalOr:
            return {x.lo | y.lo, x.hi | y.hi, strict};
        default:
            if (x.single() && y.single()) return {x.lo ^ y.lo, x.lo ^ y.lo, strict};
            return {0, 1, strict};
    }
}

Interval chosen(Op op, const Interval& condition, const Interval& x, const Interval& y) {
    Interval result = condition.lo != 0 ? x : condition.hi == 0 ? y : hull(x, y);
    result.may_fail = result.may_fail || condition.may_fail || (op == Op::kWhere && (x.may_fail || y.may_fail));
    return result;
}

Interval read(const Instruction& instruction, std::span<const Interval> before) {
    const Table::Storage& table = *instruction.table;
    if (table.size == 0) return {0, 0, true};
    const size_t rank = table.shape.size();
    std::array<int64_t, 4> first{}, last{};
    bool may_fail = false;
    int64_t combinations = 1;
    for (size_t i = 0; i < rank; ++i) {
        const Interval& index = before[static_cast<size_t>(instruction.operands[i])];
        may_fail = may_fail || index.may_fail || index.lo < 0 || index.hi >= table.shape[i];
        first[i] = std::clamp<int64_t>(index.lo, 0, table.shape[i] - 1);
        last[i] = std::clamp<int64_t>(index.hi, 0, table.shape[i] - 1);
        if (i + 1 < rank) combinations = std::min(combinations * (last[i] - first[i] + 1), kLeadingCombinations + 1);
    }
    if (combinations > kLeadingCombinations) {
        const ValueRange whole = table.range(0, table.size - 1);
        return {whole.lo, whole.hi, may_fail};
    }
    Interval result{kHighest, kLowest, may_fail};
    std::array<int64_t, 4> at = first;
    while (true) {
        int64_t base = 0;
        for (size_t i = 0; i + 1 < rank; ++i) base += at[i] * table.strides[i];
        const ValueRange row = table.range(base + first[rank - 1], base + last[rank - 1]);
        result = hull(result, {row.lo, row.hi, false});
        size_t dimension = rank - 1;
        while (dimension-- > 0) {
            if (++at[dimension] <= last[dimension]) break;
            at[dimension] = first[dimension];
        }
        if (dimension == static_cast<size_t>(-1)) return result;
    }
}

Interval of_affine(const Affine& affine, const Region& region) {
    const auto ends = [](int64_t factor, int64_t first, int64_t last) {
        return factor >= 0 ? std::pair(factor * first, factor * last) : std::pair(factor * last, factor * first);
    };
    const auto [q_lo, q_hi] = ends(affine.per_q, region.q_first, region.q_last);
    const auto [kv_lo, kv_hi] = ends(affine.per_kv, region.kv_first, region.kv_last);
    return {affine.constant + q_lo + kv_lo, affine.constant + q_hi + kv_hi, false};
}

Interval of_operator(Op op, const Interval& x, const Interval& y) {
    const bool may_fail = x.may_fail || y.may_fail;
    switch (op) {
        case Op::kNegate:
            return narrowed(-Wide{x.hi}, -Wide{x.lo}, may_fail);
        case Op::kInvert:
            return {~x.hi, ~x.lo, may_fail};
        case Op::kAbs:
            return absolute(x, may_fail);
        case Op::kAdd:
            return narrowed(Wide{x.lo} + y.lo, Wide{x.hi} + y.hi, may_fail);
        case Op::kSubtract:
            return narrowed(Wide{x.lo} - y.hi, Wide{x.hi} - y.lo, may_fail);
        case Op::kMultiply:
            return multiply(x, y, may_fail);
        case Op::kFloorDivide:
            return floor_divide(x, y, may_fail);
        case Op::kFloorModulo:
            return floor_modulo(x, y, may_fail);
        case Op::kShiftLeft:
            return shift_left(x, y, may_fail);
        case Op::kShiftRight:
            return shift_right(x, y, may_fail);
        case Op::kBitAnd:
        case Op::kBitOr:
        case Op::kBitXor:
            return bit_operation(op, x, y, may_fail);
        case Op::kMinimum:
            return {std::min(x.lo, y.lo), std::min(x.hi, y.hi), may_fail};
        case Op::kMaximum:
            return {std::max(x.lo, y.lo), std::max(x.hi, y.hi), may_fail};
        case Op::kLogicalNot:
        case Op::kNot:
            return {1 - x.hi, 1 - x.lo, may_fail};
        case Op::kLogicalAnd:
        case Op::kLogicalOr:
        case Op::kLogicalXor:
        case Op::kAnd:
        case Op::kOr:
            return logical(op, x, y);
        default:
            return compare(op, x, y, may_fail);
    }
}

}  // namespace

Interval interval_of(const Instruction& instruction, std::span<const Interval> before, const Region& region) {
    if (instruction.is_affine) return of_affine(instruction.affine, region);
    if (instruction.compares_affine) {
        return compare(instruction.op, of_affine(instruction.affine, region), {0, 0, false}, false);
    }
    const auto operand = [&](size_t i) -> const Interval& {
        return before[static_cast<size_t>(instruction.operands[i])];
    };
    switch (instruction.op) {
        case Op::kConstant:
            return {instruction.value, instruction.value, false};
        case Op::kIndexQ:
            return {region.q_first, region.q_last, false};
        case Op::kIndexKv:
            return {region.kv_first, region.kv_last, false};
        case Op::kRead:
            return read(instruction, before);
        case Op::kChoice:
        case Op::kWhere:
            return chosen(instruction.op, operand(0), operand(1), operand(2));
        case Op::kClamp:
            return of_operator(Op::kMinimum, of_operator(Op::kMaximum, operand(0), operand(1)), operand(2));
        default: {
            if (instruction.operands.size() == 1) return of_operator(instruction.op, operand(0), {0, 0, false});
            Interval result = operand(0);
            for (size_t i = 1; i < instruction.operands.size(); ++i) {
                result = of_operator(instruction.op, result, operand(i));
            }
            return result;
        }
    }
}

Interval intervals_over(const Program& program, const Region& region, std::vector<Interval>& values) {
    const size_t count = program.instructions.size();
    values.resize(count, kAnyBoolean);
    for (size_t i = 0; i < count; ++i) values[i] = interval_of(program.instructions[i], values, region);
    return values.back();
}

}  // namespace jali

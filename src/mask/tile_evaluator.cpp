#include "mask/tile_evaluator.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mask/node.h"
#include "mask/table_storage.h"

namespace jali {

namespace {

void fill(TileBits& bits, bool value) {
    bits.fill(value ? ~uint64_t{0} : 0);
}

// Packs bytes 0 or 1 into the words of a bit row.
void pack_bytes(const uint8_t* bytes, int count, uint64_t* words) {
    words[0] = words[1] = 0;
    int column = 0;
    for (; column + 8 <= count; column += 8) {
        uint64_t eight = 0;
        std::memcpy(&eight, bytes + column, 8);
        // Gathers the lowest bit of each of the eight bytes into the top byte, in order.
        const uint64_t packed = (eight * 0x0102040810204080ULL) >> 56;
        words[column / 64] |= packed << (column % 64);
    }
    for (; column < count; ++column) words[column / 64] |= uint64_t{bytes[column]} << (column % 64);
}

bool counts_up(const TileIntegers& position, int columns) {
    for (int j = 1; j < columns; ++j) {
        if (position.column_values[static_cast<size_t>(j)] != position.column_values[0] + j) return false;
    }
    return true;
}

bool any(const TileBits& bits) {
    return std::any_of(bits.begin(), bits.end(), [](uint64_t word) { return word != 0; });
}

}  // namespace

TileEvaluator::TileEvaluator(const Program& program) : program_(program), values_(program.instructions.size()) {}

void TileEvaluator::evaluate(const TilePlace& place) {
    place_ = place;
    classify({place.q_begin, place.q_begin + place.rows - 1, place.kv_begin, place.kv_begin + place.columns - 1});
    compute_needed();
    const auto root = static_cast<int32_t>(program_.instructions.size()) - 1;
    TileBits scratch;
    keeps_ = bits_of(root, scratch);
    failures_.fill(0);
    if (value(root).may_fail) failures_ = value(root).failed;
    if (place.rows < kTileEdge || place.columns < kTileEdge) {
        const TileBits real = real_pairs(place);
        for (size_t i = 0; i < real.size(); ++i) {
            keeps_[i] &= real[i];
            failures_[i] &= real[i];
        }
    }
    has_failures_ = any(failures_);
}

// Instructions in order rather than by recursion: predicates may be a thousand levels deep. What decided values would
// have been computed from is left out.
void TileEvaluator::compute_needed() {
    needed_.assign(values_.size(), false);
    needed_.back() = true;
    for (size_t id = values_.size(); id-- > 0;) {
        if (!needed_[id] || intervals_[id].decided()) continue;
        for (const int32_t operand : program_.instructions[id].operands) needed_[static_cast<size_t>(operand)] = true;
    }
    for (size_t id = 0; id < values_.size(); ++id) {
        if (!needed_[id]) continue;
        Value& result = values_[id];
        result.may_fail = intervals_[id].may_fail;
        result.is_scalar = intervals_[id].decided();
        result.scalar = intervals_[id].lo;
        if (result.is_scalar) continue;
        if (result.may_fail) fill(result.failed, false);
        compute(static_cast<int32_t>(id), result);
    }
}

const TileIntegers& TileEvaluator::integers_of(int32_t id, TileIntegers& scratch) const {
    const Value& operand = value(id);
    if (operand.is_scalar) {
        scratch.set_scalar(operand.scalar);
        return scratch;
    }
    const Instruction& instruction = program_.instructions[static_cast<size_t>(id)];
    if (instruction.type == ValueType::kInteger) return operand.integers;
    const TileBits& bits = operand.bits;
    if (!instruction.uses_q || !instruction.uses_kv) {
        const bool rows = instruction.uses_q;
        scratch.spread = rows ? Spread::kRows : Spread::kColumns;
        scratch.largest_part = 1;
        for (int i = 0; i < kTileEdge; ++i) {
            (rows ? scratch.row_values : scratch.column_values)[static_cast<size_t>(i)] =
                rows ? bit_at(bits, i, 0) : bit_at(bits, 0, i);
        }
        return scratch;
    }
    int64_t* const matrix = scratch.begin_matrix();
    for (int i = 0; i < place_.rows; ++i) {
        for (int j = 0; j < place_.columns; ++j) matrix[i * kTileEdge + j] = bit_at(bits, i, j);
    }
    return scratch;
}

const TileBits& TileEvaluator::bits_of(int32_t id, TileBits& scratch) const {
    const Value& operand = value(id);
    if (!operand.is_scalar) return operand.bits;
    fill(scratch, operand.scalar != 0);
    return scratch;
}

void TileEvaluator::add_failures(int32_t id, TileBits& failed) const {
    const Value& operand = value(id);
    if (!operand.may_fail) return;
    for (size_t i = 0; i < failed.size(); ++i) failed[i] |= operand.failed[i];
}

void TileEvaluator::compute(int32_t id, Value& result) const {
    const Instruction& instruction = program_.instructions[static_cast<size_t>(id)];
    if (instruction.is_affine) return compute_affine(instruction, result);
    if (instruction.compares_affine) return compare_affine(instruction, result);
    switch (instruction.op) {
        case Op::kRead:
            return compute_read(instruction, result);
        case Op::kAnd:
        case Op::kOr:
        case Op::kNot:
        case Op::kLogicalAnd:
        case Op::kLogicalOr:
        case Op::kLogicalXor:
        case Op::kLogicalNot:
            return compute_logical(instruction, result);
        case Op::kChoice:
        case Op::kWhere:
            return compute_choice(instruction, result);
        default:
            return compute_strict(instruction, result);
    }
}

// Coefficients are bounded where affines are noted: nothing overflows here.
void TileEvaluator::compute_affine(const Instruction& instruction, Value& result) const {
    const Affine& affine = instruction.affine;
    TileIntegers& sum = result.integers;
    sum.spread = affine.per_q == 0 ? Spread::kColumns : affine.per_kv == 0 ? Spread::kRows : Spread::kSum;
    // The constant goes to the rows where there are any.
    const int64_t row_constant = sum.has_rows() ? affine.constant : 0;
    const int64_t column_constant = sum.has_rows() ? 0 : affine.constant;
    sum.largest_part = 0;
    for (int i = 0; i < kTileEdge; ++i) {
        const auto at = static_cast<size_t>(i);
        sum.row_values[at] = row_constant + affine.per_q * (place_.q_begin + i);
        sum.column_values[at] = column_constant + affine.per_kv * (place_.kv_begin + i);
        sum.largest_part = std::max({sum.largest_part, std::abs(sum.row_values[at]), std::abs(sum.column_values[at])});
    }
}

void TileEvaluator::compare_affine(const Instruction& instruction, Value& result) const {
    const Affine& affine = instruction.affine;
    const int64_t constant = affine.constant + affine.per_q * place_.q_begin + affine.per_kv * place_.kv_begin;
    if (constant == result.compared_constant && place_.rows == result.compared_rows &&
        place_.columns == result.compared_columns) {
        return;
    }
    compute_affine(instruction, result);
    compare(instruction.op, result.integers, TileIntegers{}, place_, result.bits);
    result.compared_constant = constant;
    result.compared_rows = place_.rows;
    result.compared_columns = place_.columns;
}

// Operations on integers that evaluate all their operands: arithmetic, comparisons, min, max, clamp.
void TileEvaluator::compute_strict(const Instruction& instruction, Value& result) const {
    for (const int32_t operand : instruction.operands) {
        if (result.may_fail) add_failures(operand, result.failed);
    }
    TileIntegers left_scratch, right_scratch, accumulated;
    const TileIntegers* left = &integers_of(instruction.operands[0], left_scratch);
    if (instruction.op >= Op::kLess && instruction.op <= Op::kNotEqual) {
        compare(instruction.op, *left, integers_of(instruction.operands[1], right_scratch), place_, result.bits);
        return;
    }
    const auto step = [&](Op op, const TileIntegers& right) {
        TileIntegers combined;
        if (result.may_fail) {
            combine_checked(op, *left, right, place_, combined, result.failed);
        } else {
            combine(op, *left, right, place_, combined);
        }
        accumulated = std::move(combined);
        left = &accumulated;
    };
    const bool is_clamp = instruction.op == Op::kClamp;
    if (instruction.operands.size() == 1) step(instruction.op, TileIntegers{});
    for (size_t i = 1; i < instruction.operands.size(); ++i) {
        const Op op = !is_clamp ? instruction.op : i == 1 ? Op::kMaximum : Op::kMinimum;
        step(op, integers_of(instruction.operands[i], right_scratch));
    }
    if (instruction.type == ValueType::kInteger) {
        result.integers = std::move(accumulated);
    } else {
        fill_bits(result.bits, place_, [&](int i, int j) { return accumulated.at(i, j) != 0; });
    }
}

void TileEvaluator::compute_logical(const Instruction& instruction, Value& result) const {
    TileBits left_scratch, right_scratch;
    const int32_t left_id = instruction.operands[0];
    if (result.may_fail) add_failures(left_id, result.failed);
    const TileBits& left = bits_of(left_id, left_scratch);
    if (instruction.op == Op::kNot || instruction.op == Op::kLogicalNot) {
        for (size_t i = 0; i < left.size(); ++i) result.bits[i] = ~left[i];
        return;
    }
    const int32_t right_id = instruction.operands[1];
    const TileBits& right = bits_of(right_id, right_scratch);
    if (result.may_fail) {
        TileBits right_failed{};
        add_failures(right_id, right_failed);
        for (size_t i = 0; i < left.size(); ++i) {
            // and, or: the right side is evaluated only where the left one leaves the answer open.
            const uint64_t asked = instruction.op == Op::kAnd  ? left[i]
                                   : instruction.op == Op::kOr ? ~left[i]
                                                               : ~uint64_t{0};
            result.failed[i] |= right_failed[i] & asked;
        }
    }
    switch (instruction.op) {
        case Op::kAnd:
        case Op::kLogicalAnd:
            for (size_t i = 0; i < left.size(); ++i) result.bits[i] = left[i] & right[i];
            return;
        case Op::kOr:
        case Op::kLogicalOr:
            for (size_t i = 0; i < left.size(); ++i) result.bits[i] = left[i] | right[i];
            return;
        default:
            for (size_t i = 0; i < left.size(); ++i) result.bits[i] = left[i] ^ right[i];
    }
}

void TileEvaluator::compute_choice(const Instruction& instruction, Value& result) const {
    const int32_t condition_id = instruction.operands[0], x_id = instruction.operands[1],
                  y_id = instruction.operands[2];
    TileBits condition_scratch;
    const TileBits& condition = bits_of(condition_id, condition_scratch);
    if (result.may_fail) {
        add_failures(condition_id, result.failed);
        TileBits x_failed{}, y_failed{};
        add_failures(x_id, x_failed);
        add_failures(y_id, y_failed);
        const bool lazy = instruction.op == Op::kChoice;
        for (size_t i = 0; i < condition.size(); ++i) {
            result.failed[i] |=
                lazy ? (condition[i] & x_failed[i]) | (~condition[i] & y_failed[i]) : x_failed[i] | y_failed[i];
        }
    }
    if (instruction.type == ValueType::kBoolean) {
        TileBits x_scratch, y_scratch;
        const TileBits& x = bits_of(x_id, x_scratch);
        const TileBits& y = bits_of(y_id, y_scratch);
        for (size_t i = 0; i < condition.size(); ++i) {
            result.bits[i] = (condition[i] & x[i]) | (~condition[i] & y[i]);
        }
        return;
    }
    TileIntegers x_scratch, y_scratch;
    const TileIntegers& x = integers_of(x_id, x_scratch);
    const TileIntegers& y = integers_of(y_id, y_scratch);
    const auto chosen = [&](int i, int j) { return bit_at(condition, i, j) != 0 ? x.at(i, j) : y.at(i, j); };
    if (!instruction.uses_q || !instruction.uses_kv) {
        const bool rows = instruction.uses_q;
        TileIntegers edge;
        edge.row_values.fill(0);
        edge.column_values.fill(0);
        edge.spread = rows ? Spread::kRows : Spread::kColumns;
        for (int i = 0; i < (rows ? place_.rows : place_.columns); ++i) {
            const int64_t value = rows ? chosen(i, 0) : chosen(0, i);
            (rows ? edge.row_values : edge.column_values)[static_cast<size_t>(i)] = value;
            edge.largest_part = std::max(edge.largest_part, value == kLowest ? kHighest : std::abs(value));
        }
        result.integers = std::move(edge);
        return;
    }
    int64_t* const matrix = result.integers.begin_matrix();
    for (int i = 0; i < place_.rows; ++i) {
        for (int j = 0; j < place_.columns; ++j) matrix[i * kTileEdge + j] = chosen(i, j);
    }
}

// The row-major position as rows plus columns, where every index is so itself. False where one is a matrix.
bool TileEvaluator::position_in_parts(const std::vector<const TileIntegers*>& indices, const Table::Storage& table,
                                      TileIntegers& position) const {
    position.set_scalar(0);
    for (size_t i = 0; i < indices.size(); ++i) {
        if (!indices[i]->is_separable()) return false;
        TileIntegers stride, offset, sum;
        stride.set_scalar(table.strides[i]);
        if (indices[i]->spread == Spread::kSum) {
            if (table.strides[i] != 1) return false;
            offset = *indices[i];
        } else {
            combine(Op::kMultiply, *indices[i], stride, place_, offset);
        }
        combine(Op::kAdd, position, offset, place_, sum);
        position = std::move(sum);
    }
    return position.is_separable();
}

// Positions one by one; where an index is out of range, the pair fails and its position is 0.
void TileEvaluator::positions_checked(const std::vector<const TileIntegers*>& indices, const Table::Storage& table,
                                      TileIntegers& position, TileBits& failed) const {
    int64_t* const matrix = position.begin_matrix();
    for (int i = 0; i < place_.rows; ++i) {
        for (int j = 0; j < place_.columns; ++j) {
            int64_t at = 0;
            bool inside = true;
            for (size_t k = 0; k < indices.size(); ++k) {
                const int64_t index = indices[k]->at(i, j);
                inside = inside && index >= 0 && index < table.shape[k];
                if (inside) at += index * table.strides[k];
            }
            if (!inside) failed[static_cast<size_t>(2 * i + j / 64)] |= uint64_t{1} << (j % 64);
            matrix[i * kTileEdge + j] = inside ? at : 0;
        }
    }
}

void TileEvaluator::compute_read(const Instruction& instruction, Value& result) const {
    const Table::Storage& table = *instruction.table;
    std::array<TileIntegers, 4> scratch;
    std::vector<const TileIntegers*> indices;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
        indices.push_back(&integers_of(instruction.operands[i], scratch[i]));
    }
    TileIntegers position;
    if (!result.may_fail) {
        if (!position_in_parts(indices, table, position)) {
            positions_checked(indices, table, position, result.failed);  // nothing fails
        }
        return read_unfailing(instruction, position, result);
    }
    for (const int32_t operand : instruction.operands) add_failures(operand, result.failed);
    if (table.size == 0) {
        fill(result.failed, true);
        fill(result.bits, false);
        result.integers.set_scalar(0);
        return;
    }
    const bool rows_only = !instruction.uses_kv, columns_only = !instruction.uses_q;
    if (!rows_only && !columns_only) {
        positions_checked(indices, table, position, result.failed);
        return read_unfailing(instruction, position, result);
    }
    // One edge: check each row or column once, and let a failure count for all pairs that share it.
    position.spread = rows_only ? Spread::kRows : Spread::kColumns;
    position.row_values.fill(0);
    position.column_values.fill(0);
    TileBits column_failed{};
    for (int i = 0; i < (rows_only ? place_.rows : place_.columns); ++i) {
        int64_t at = 0;
        bool inside = true;
        for (size_t k = 0; k < indices.size(); ++k) {
            const int64_t index = rows_only ? indices[k]->at(i, 0) : indices[k]->at(0, i);
            inside = inside && index >= 0 && index < table.shape[k];
            if (inside) at += index * table.strides[k];
        }
        if (inside) {
            (rows_only ? position.row_values : position.column_values)[static_cast<size_t>(i)] = at;
        } else if (rows_only) {
            result.failed[static_cast<size_t>(2 * i)] = result.failed[static_cast<size_t>(2 * i + 1)] = ~uint64_t{0};
        } else {
            column_failed[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
        }
    }
    for (size_t i = 0; i < result.failed.size(); ++i) result.failed[i] |= column_failed[i % 2];
    read_unfailing(instruction, position, result);
}

// Reads at positions that all lie inside the table.
void TileEvaluator::read_unfailing(const Instruction& instruction, const TileIntegers& position, Value& result) const {
    const Table::Storage& table = *instruction.table;
    if (instruction.type == ValueType::kBoolean) {
        if (position.has_columns() && counts_up(position, place_.columns)) {
            fill(result.bits, false);
            for (int i = 0; i < place_.rows; ++i) {
                const int64_t first = position.at(i, 0);
                pack_bytes(&table.booleans[static_cast<size_t>(first)], place_.columns,
                           &result.bits[static_cast<size_t>(2 * i)]);
            }
            return;
        }
        fill_bits(result.bits, place_,
                  [&](int i, int j) { return table.booleans[static_cast<size_t>(position.at(i, j))] != 0; });
        return;
    }
    TileIntegers read;
    switch (position.spread) {
        case Spread::kScalar:
            read.set_scalar(table.value(position.scalar));
            break;
        case Spread::kRows:
        case Spread::kColumns: {
            const bool rows = position.spread == Spread::kRows;
            read.spread = position.spread;
            read.row_values.fill(0);
            read.column_values.fill(0);
            for (int i = 0; i < (rows ? place_.rows : place_.columns); ++i) {
                const int64_t value = table.value(rows ? position.at(i, 0) : position.at(0, i));
                (rows ? read.row_values : read.column_values)[static_cast<size_t>(i)] = value;
                read.largest_part = std::max(read.largest_part, value == kLowest ? kHighest : std::abs(value));
            }
            break;
        }
        default: {
            int64_t* const matrix = read.begin_matrix();
            for (int i = 0; i < place_.rows; ++i) {
                for (int j = 0; j < place_.columns; ++j) {
                    matrix[i * kTileEdge + j] = table.value(position.at(i, j));
                }
            }
        }
    }
    result.integers = std::move(read);
}

}  // namespace jali

#include "mask/tile_values.h"

#include <algorithm>

namespace jali {

namespace {

// Parts of a sum below this can be added and subtracted a few times without leaving 64 bits.
constexpr int64_t kLargestPart = int64_t{1} << 60;

using Edge = std::array<int64_t, kTileEdge>;

// Calls `visit` with the comparison as a type, so that loops over pairs have it inlined.
template <class Visit>
void with_comparison(Op op, const Visit& visit) {
    switch (op) {
        case Op::kLess:
            return visit([](int64_t x, int64_t y) { return x < y; });
        case Op::kLessEqual:
            return visit([](int64_t x, int64_t y) { return x <= y; });
        case Op::kGreater:
            return visit([](int64_t x, int64_t y) { return x > y; });
        case Op::kGreaterEqual:
            return visit([](int64_t x, int64_t y) { return x >= y; });
        case Op::kEqual:
            return visit([](int64_t x, int64_t y) { return x == y; });
        default:
            return visit([](int64_t x, int64_t y) { return x != y; });
    }
}

// The same for the operations of combine(): none fails on the values given.
template <class Visit>
void with_operation(Op op, const Visit& visit) {
    switch (op) {
        case Op::kNegate:
            return visit([](int64_t x, int64_t) { return -x; });
        case Op::kInvert:
            return visit([](int64_t x, int64_t) { return ~x; });
        case Op::kAbs:
            return visit([](int64_t x, int64_t) { return x < 0 ? -x : x; });
        case Op::kAdd:
            return visit([](int64_t x, int64_t y) { return x + y; });
        case Op::kSubtract:
            return visit([](int64_t x, int64_t y) { return x - y; });
        case Op::kMultiply:
            return visit([](int64_t x, int64_t y) { return x * y; });
        case Op::kFloorDivide:
            return visit(floor_quotient);
        case Op::kFloorModulo:
            return visit(floor_remainder);
        case Op::kBitAnd:
            return visit([](int64_t x, int64_t y) { return x & y; });
        case Op::kBitOr:
            return visit([](int64_t x, int64_t y) { return x | y; });
        case Op::kBitXor:
            return visit([](int64_t x, int64_t y) { return x ^ y; });
        case Op::kMinimum:
            return visit([](int64_t x, int64_t y) { return x < y ? x : y; });
        case Op::kMaximum:
            return visit([](int64_t x, int64_t y) { return x > y ? x : y; });
        default:
            return visit([op](int64_t x, int64_t y) {
                int64_t result = 0;
                apply(op, x, y, result);
                return result;
            });
    }
}

int64_t largest_of(const Edge& values, int count) {
    int64_t largest = 0;
    for (int i = 0; i < count; ++i) {
        const int64_t value = values[static_cast<size_t>(i)];
        if (value == kLowest) return kHighest;
        largest = std::max(largest, value < 0 ? -value : value);
    }
    return largest;
}

int64_t largest_part_of(const TileIntegers& x) {
    if (x.spread != Spread::kScalar) return x.largest_part;
    return x.scalar == kLowest ? kHighest : std::abs(x.scalar);
}

bool fits_sums(const TileIntegers& x) {
    return x.is_separable() && largest_part_of(x) <= kLargestPart;
}

// The columns of one row that compare true with `threshold`, as the two words of a bit row.
template <class Compare>
void compare_row(const Compare& keeps, const Edge& columns, int64_t threshold, int count, uint64_t* words) {
    words[0] = words[1] = 0;
    for (int word = 0; word < 2; ++word) {
        const int from = 64 * word, to = std::min(count, from + 64);
        uint64_t packed = 0;
        for (int j = from; j < to; ++j) {
            packed |= static_cast<uint64_t>(keeps(columns[static_cast<size_t>(j)], threshold) ? 1 : 0) << (j - from);
        }
        words[word] = packed;
    }
}

// Bits [from, to) of a row of 128.
void set_range(int from, int to, uint64_t* words) {
    for (int word = 0; word < 2; ++word) {
        const int lo = std::clamp(from - 64 * word, 0, 64), hi = std::clamp(to - 64 * word, 0, 64);
        const uint64_t below_hi = hi == 64 ? ~uint64_t{0} : (uint64_t{1} << hi) - 1;
        const uint64_t below_lo = lo == 64 ? ~uint64_t{0} : (uint64_t{1} << lo) - 1;
        words[word] = below_hi & ~below_lo;
    }
}

// The same for columns in ascending order. `near` is where the last threshold stood among them: neighbouring rows have
// neighbouring thresholds, so that walking from there takes a step or two.
void search_row(Op op, const Edge& columns, int64_t threshold, int count, int& near, uint64_t* words) {
    const auto column = [&](int j) { return columns[static_cast<size_t>(j)]; };
    while (near < count && column(near) < threshold) ++near;
    while (near > 0 && column(near - 1) >= threshold) --near;
    const int lower = near;
    int upper = lower;
    if (op != Op::kLess && op != Op::kGreaterEqual) {
        while (upper < count && column(upper) == threshold) ++upper;
    }
    switch (op) {
        case Op::kLess:
            return set_range(0, lower, words);
        case Op::kLessEqual:
            return set_range(0, upper, words);
        case Op::kGreater:
            return set_range(upper, count, words);
        case Op::kGreaterEqual:
            return set_range(lower, count, words);
        default: {
            set_range(lower, upper, words);
            if (op == Op::kEqual) return;
            uint64_t all[2];
            set_range(0, count, all);
            words[0] ^= all[0];
            words[1] ^= all[1];
        }
    }
}

// columns[j] op rows[i] for every pair.
void compare_edges(Op op, const Edge& columns, const Edge& rows, const TilePlace& place, TileBits& bits) {
    const bool ascending = std::is_sorted(columns.begin(), columns.begin() + place.columns);
    int near = 0;
    with_comparison(op, [&](const auto& keeps) {
        for (int i = 0; i < kTileEdge; ++i) {
            uint64_t* words = &bits[static_cast<size_t>(2 * i)];
            if (i >= place.rows) {
                words[0] = words[1] = 0;
                continue;
            }
            const int64_t threshold = rows[static_cast<size_t>(i)];
            if (i > 0 && threshold == rows[static_cast<size_t>(i) - 1]) {
                words[0] = words[-2];
                words[1] = words[-1];
            } else if (ascending) {
                search_row(op, columns, threshold, place.columns, near, words);
            } else {
                compare_row(keeps, columns, threshold, place.columns, words);
            }
        }
    });
}

void add_part(Edge& into, const Edge& part, int sign) {
    for (size_t i = 0; i < into.size(); ++i) into[i] += sign * part[i];
}

// The rows or the columns of x as an edge (zeros or the scalar where x has none); real entries only are meaningful.
Edge row_part(const TileIntegers& x) {
    Edge part{};
    if (x.spread == Spread::kScalar) part.fill(x.scalar);
    if (x.has_rows()) part = x.row_values;
    return part;
}

Edge column_part(const TileIntegers& x) {
    return x.has_columns() ? x.column_values : Edge{};
}

// Sums and differences of separable values stay separable.
bool combine_parts(Op op, const TileIntegers& x, const TileIntegers& y, TileIntegers& result) {
    const bool adds = op == Op::kAdd || op == Op::kSubtract;
    if (!adds || !fits_sums(x) || !fits_sums(y)) return false;
    const bool rows = x.has_rows() || y.has_rows(), columns = x.has_columns() || y.has_columns();
    if (!rows || !columns) return false;  // one edge: combine_edges does it without loss
    const int sign = op == Op::kAdd ? 1 : -1;
    Edge row_values = row_part(x), column_values = column_part(x);
    add_part(row_values, row_part(y), sign);
    add_part(column_values, column_part(y), sign);
    result.largest_part = largest_part_of(x) + largest_part_of(y);
    result.spread = Spread::kSum;
    result.row_values = row_values;
    result.column_values = column_values;
    return true;
}

Spread joint_spread(const TileIntegers& x, const TileIntegers& y) {
    if (x.spread == Spread::kScalar) return y.spread == Spread::kSum ? Spread::kMatrix : y.spread;
    if (y.spread == Spread::kScalar) return x.spread == Spread::kSum ? Spread::kMatrix : x.spread;
    const bool same_edge = x.spread == y.spread && (x.spread == Spread::kRows || x.spread == Spread::kColumns);
    return same_edge ? x.spread : Spread::kMatrix;
}

// One value an entry of the joint spread: operation(row, column) where the spread ignores one of the two. Writes to a
// local first, since the result may be one of the operands.
template <class Operation>
void fill_spread(Spread spread, const TilePlace& place, const Operation& operation, TileIntegers& result) {
    switch (spread) {
        case Spread::kScalar:
            result.set_scalar(operation(0, 0));
            return;
        case Spread::kRows:
        case Spread::kColumns: {
            Edge values{};
            const bool rows = spread == Spread::kRows;
            const int count = rows ? place.rows : place.columns;
            for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = rows ? operation(i, 0) : operation(0, i);
            result.largest_part = largest_of(values, count);
            (rows ? result.row_values : result.column_values) = values;
            result.spread = spread;
            return;
        }
        default: {
            int64_t* const matrix = result.begin_matrix();
            for (int i = 0; i < place.rows; ++i) {
                for (int j = 0; j < place.columns; ++j) matrix[i * kTileEdge + j] = operation(i, j);
            }
        }
    }
}

}  // namespace

TileBits real_pairs(const TilePlace& place) {
    TileBits bits{};
    for (int row = 0; row < place.rows; ++row) set_range(0, place.columns, &bits[static_cast<size_t>(2 * row)]);
    return bits;
}

void compare(Op op, const TileIntegers& x, const TileIntegers& y, const TilePlace& place, TileBits& bits) {
    if (fits_sums(x) && fits_sums(y)) {
        // (xr + xc) op (yr + yc) is (xc - yc) op (yr - xr).
        Edge columns = column_part(x), rows = row_part(y);
        add_part(columns, column_part(y), -1);
        add_part(rows, row_part(x), -1);
        compare_edges(op, columns, rows, place, bits);
        return;
    }
    with_comparison(op, [&](const auto& keeps) {
        fill_bits(bits, place, [&](int i, int j) { return keeps(x.at(i, j), y.at(i, j)); });
    });
}

void combine(Op op, const TileIntegers& x, const TileIntegers& y, const TilePlace& place, TileIntegers& result) {
    if (op == Op::kNegate && x.spread == Spread::kSum) return combine(Op::kSubtract, TileIntegers{}, x, place, result);
    if (combine_parts(op, x, y, result)) return;
    const Spread spread = joint_spread(x, y);
    with_operation(op, [&](const auto& operation) {
        fill_spread(
            spread, place, [&](int i, int j) { return operation(x.at(i, j), y.at(i, j)); }, result);
    });
}

void combine_checked(Op op, const TileIntegers& x, const TileIntegers& y, const TilePlace& place, TileIntegers& result,
                     TileBits& failed) {
    const Spread spread = joint_spread(x, y);
    const auto operation = [&](int i, int j) {
        int64_t value = 0;
        if (apply(op, x.at(i, j), y.at(i, j), value) == Failure::kNone) return value;
        // A failure in a row or column value is one at every pair that shares it.
        const int last_row = spread == Spread::kColumns || spread == Spread::kScalar ? place.rows - 1 : i;
        const int last_column = spread == Spread::kRows || spread == Spread::kScalar ? place.columns - 1 : j;
        for (int row = i; row <= last_row; ++row) {
            for (int column = j; column <= last_column; ++column) {
                failed[static_cast<size_t>(2 * row + column / 64)] |= uint64_t{1} << (column % 64);
            }
        }
        return int64_t{0};
    };
    fill_spread(spread, place, operation, result);
}

}  // namespace jali

#include "support/random_predicate.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace jali::test {

namespace {

using namespace indices;

class Decoder {
   public:
    Decoder(const std::vector<uint32_t>& genome, const RandomPredicateOptions& options)
        : genome_(genome), options_(options) {
        const int64_t longest = std::max<int64_t>({options.q_len, options.kv_len, 1});
        std::vector<int64_t> sorted, scattered, small;
        std::vector<uint8_t> flags;
        const int64_t step = 1 + take() % 90;
        for (int64_t i = 0; i < longest; ++i) {
            sorted.push_back(i / step);
            scattered.push_back(static_cast<int64_t>((static_cast<uint64_t>(i) * 2654435761U) >> 7) % 5);
            flags.push_back(i % (step + 2) < step / 2 ? 1 : 0);
        }
        for (int64_t i = 0; i <= longest / step + 1; ++i) small.push_back(i * step);
        tables_.emplace_back("doc", sorted);
        tables_.emplace_back("part", scattered);
        tables_.emplace_back("begin", small);
        flags_.push_back(Table::booleans("flag", flags, {longest}));
        std::vector<int64_t> grid(63);
        std::iota(grid.begin(), grid.end(), -20);
        for (int64_t& value : grid) value = value * 7 % 11;
        tables_.push_back(Table::integers("grid", grid, {7, 9}));
    }

    Expression boolean(int depth) {
        const uint32_t choice = take() % 14;
        if (depth == 0 || choice < 1) return comparison(0);
        switch (choice) {
            case 1:
            case 2:
            case 3:
            case 4:
                return comparison(depth - 1);
            case 5:
                return boolean(depth - 1) && boolean(depth - 1);
            case 6:
                return boolean(depth - 1) || boolean(depth - 1);
            case 7:
                return !boolean(depth - 1);
            case 8:
                return boolean(depth - 1) ^ boolean(depth - 1);
            case 9:
                return boolean(depth - 1) & boolean(depth - 1);
            case 10:
                return boolean(depth - 1) | ~boolean(depth - 1);
            case 11:
                return select(boolean(depth - 1), boolean(depth - 1), boolean(depth - 1));
            case 12:
                return where(boolean(depth - 1), boolean(depth - 1), boolean(depth - 1));
            default:
                return flags_[0][index(depth - 1, flags_[0].size())];
        }
    }

   private:
    uint32_t take() { return next_ < genome_.size() ? genome_[next_++] : 0; }

    Expression comparison(int depth) {
        constexpr std::array kComparisons{Op::kGreaterEqual, Op::kLess,    Op::kEqual,
                                          Op::kLessEqual,    Op::kGreater, Op::kNotEqual};
        const Op op = kComparisons[take() % kComparisons.size()];
        return make(op, {integer(depth), integer(depth)});
    }

    // An index that is always inside the table, unless failures are wanted.
    Expression index(int depth, int64_t size) {
        Expression value = integer(depth);
        if (options_.may_fail && take() % 4 == 3) return value;
        return floor_mod(value, size);
    }

    Expression constant() {
        const auto value = static_cast<int64_t>(take());
        if (options_.may_fail && value % 37 == 36) return (int64_t{1} << 61) + value;
        return value % 300 - 40;
    }

    Expression divisor(int depth) {
        if (options_.may_fail && take() % 4 == 3) return integer(depth);
        const auto value = static_cast<int64_t>(take() % 200);
        return value % 5 == 4 ? -1 - value : 1 + value;
    }

    Expression leaf() {
        switch (take() % (options_.uses_heads ? 8 : 6)) {
            case 0:
                return q;
            case 1:
            case 2:
                return kv;
            case 3:
                return q - kv;
            case 4:
                return constant();
            case 5:
                return take() % 2 == 0 ? q_len : kv_len;
            case 6:
                return jali::indices::b;
            default:
                return jali::indices::h;
        }
    }

    Expression shifted(int depth) {
        const Expression value = integer(depth);
        const Expression count = options_.may_fail && take() % 4 == 3 ? integer(depth) : Expression(take() % 6);
        return take() % 2 == 0 ? value << count : value >> count;
    }

    Expression integer(int depth) {
        const uint32_t choice = take() % 18;
        if (depth <= 0 || choice < 4) return leaf();
        const auto sub = [&] { return integer(depth - 1); };
        switch (choice) {
            case 4:
                return sub() + sub();
            case 5:
                return sub() - sub();
            case 6:
                return sub() * (options_.may_fail ? sub() : Expression(static_cast<int64_t>(take() % 9) - 4));
            case 7:
                return floor_div(sub(), divisor(depth - 1));
            case 8:
                return floor_mod(sub(), divisor(depth - 1));
            case 9:
                return abs(sub());
            case 10:
                return -sub();
            case 11:
                return take() % 2 == 0 ? minimum(sub(), sub()) : maximum(sub(), sub());
            case 12:
                return clamp(sub(), constant(), sub());
            case 13:
                return shifted(depth - 1);
            case 14:
                return take() % 3 == 0 ? sub() & sub() : take() % 2 == 0 ? sub() | sub() : sub() ^ ~sub();
            case 15:
                return select(boolean(depth - 1), sub(), sub());
            case 16:
                return tables_[3](index(depth - 1, 7), index(depth - 1, 9));
            default: {
                const Table& table = tables_[take() % 3];
                return table[index(depth - 1, table.size())];
            }
        }
    }

    const std::vector<uint32_t>& genome_;
    RandomPredicateOptions options_;
    size_t next_ = 0;
    std::vector<Table> tables_;
    std::vector<Table> flags_;
};

}  // namespace

Predicate decode_predicate(const std::vector<uint32_t>& genome, const RandomPredicateOptions& options) {
    return Decoder(genome, options).boolean(4);
}

}  // namespace jali::test

// Evaluates a compiled predicate at every pair of a tile, many pairs at once.
#pragma once

#include <cstdint>
#include <vector>

#include "mask/program.h"
#include "mask/tile_values.h"

namespace jali {

class TileEvaluator {
   public:
    explicit TileEvaluator(const Program& program);  // which must outlive it

    // The predicate's interval over any region; also what evaluate() needs to have been asked for its own tile.
    Interval classify(const Region& region) { return intervals_over(program_, region, intervals_); }

    // keeps(): one bit a kept pair of the tile. failures(): one bit a pair whose value does not exist; keeps() is 0 or
    // 1 there. Bits outside the tile's rows and columns are 0.
    void evaluate(const TilePlace& place);
    const TileBits& keeps() const { return keeps_; }
    bool has_failures() const { return has_failures_; }
    const TileBits& failures() const { return failures_; }

   private:
    // Exactly one of `integers` and `bits` holds the value, as the instruction's type says, unless it is a scalar.
    struct Value {
        bool is_scalar = false;
        bool may_fail = false;
        int64_t scalar = 0;
        TileIntegers integers;
        TileBits bits;
        TileBits failed;  // meaningful where may_fail
        // A comparison of affine values looks the same on every tile on which it has the same constant: what `bits`
        // were last computed for.
        int64_t compared_constant = 0;
        int compared_rows = -1, compared_columns = -1;
    };

    void compute_needed();
    const Value& value(int32_t id) const { return values_[static_cast<size_t>(id)]; }
    void compute(int32_t id, Value& result) const;
    void compute_affine(const Instruction& instruction, Value& result) const;
    void compare_affine(const Instruction& instruction, Value& result) const;
    void compute_strict(const Instruction& instruction, Value& result) const;
    void compute_logical(const Instruction& instruction, Value& result) const;
    void compute_choice(const Instruction& instruction, Value& result) const;
    void compute_read(const Instruction& instruction, Value& result) const;
    void read_unfailing(const Instruction& instruction, const TileIntegers& position, Value& result) const;
    bool position_in_parts(const std::vector<const TileIntegers*>& indices, const Table::Storage& table,
                           TileIntegers& position) const;
    void positions_checked(const std::vector<const TileIntegers*>& indices, const Table::Storage& table,
                           TileIntegers& position, TileBits& failed) const;

    // The value of an operand as integers (booleans as 0 and 1) or as bits: its own, or in `scratch`.
    const TileIntegers& integers_of(int32_t id, TileIntegers& scratch) const;
    const TileBits& bits_of(int32_t id, TileBits& scratch) const;
    void add_failures(int32_t id, TileBits& failed) const;
    int64_t bit_at(const TileBits& bits, int row, int column) const {
        return static_cast<int64_t>(bits[static_cast<size_t>(2 * row + column / 64)] >> (column % 64) & 1);
    }

    const Program& program_;
    std::vector<Interval> intervals_;
    std::vector<Value> values_;
    TilePlace place_{};
    std::vector<bool> needed_;
    TileBits keeps_{};
    TileBits failures_{};
    bool has_failures_ = false;
};

}  // namespace jali

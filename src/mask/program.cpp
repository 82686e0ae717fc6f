#include "mask/program.h"

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "mask/node.h"
#include "mask/table_storage.h"

namespace jali {

namespace {

// Affine coefficients stay so small that nothing computed from them can overflow over lengths of 2^31.
constexpr int64_t kLargestCoefficient = int64_t{1} << 28;
constexpr int64_t kLargestConstant = int64_t{1} << 60;

bool is_comparison(Op op) {
    return op >= Op::kLess && op <= Op::kNotEqual;
}

// Turns a tree into instructions, remembering over the whole domain what each can be.
class Compiler {
   public:
    Compiler(const Domain& domain, int64_t b, int64_t h)
        : domain_(domain),
          b_(b),
          h_(h),
          whole_{0, std::max<int64_t>(domain.q_len - 1, 0), 0, std::max<int64_t>(domain.kv_len - 1, 0)} {}

    int32_t emit_tree(const Node& node) {
        if (const auto known = by_node_.find(&node); known != by_node_.end()) return known->second;
        const int32_t id = emit_node(node);
        by_node_.emplace(&node, id);
        return id;
    }

    // Only what the predicate's value needs, in order.
    std::vector<Instruction> needed_by(int32_t root) const {
        std::vector<bool> needed(instructions_.size());
        needed[static_cast<size_t>(root)] = true;
        for (size_t i = static_cast<size_t>(root) + 1; i-- > 0;) {
            const Instruction& instruction = instructions_[i];
            if (!needed[i] || instruction.is_affine || instruction.compares_affine) continue;
            for (const int32_t operand : instruction.operands) needed[static_cast<size_t>(operand)] = true;
        }
        std::vector<int32_t> renumbered(instructions_.size(), -1);
        std::vector<Instruction> kept;
        for (size_t i = 0; i <= static_cast<size_t>(root); ++i) {
            if (!needed[i]) continue;
            renumbered[i] = static_cast<int32_t>(kept.size());
            kept.push_back(instructions_[i]);
            Instruction& instruction = kept.back();
            if (instruction.is_affine || instruction.compares_affine) instruction.operands.clear();
            for (int32_t& operand : instruction.operands) operand = renumbered[static_cast<size_t>(operand)];
        }
        return kept;
    }

   private:
    using Key = std::tuple<Op, ValueType, int64_t, const Table::Storage*, std::vector<int32_t>>;

    int32_t emit_node(const Node& node) {
        switch (node.op) {
            case Op::kConstant:
            case Op::kScalar:
                return emit_constant(node.type, node.value);
            case Op::kIndexB:
                return emit_constant(node.type, b_);
            case Op::kIndexH:
                return emit_constant(node.type, h_);
            case Op::kQLen:
                return emit_constant(node.type, domain_.q_len);
            case Op::kKvLen:
                return emit_constant(node.type, domain_.kv_len);
            default:
                break;
        }
        std::vector<int32_t> operands;
        for (const NodePointer& child : node.children) operands.push_back(emit_tree(*child));
        if (const auto shorter = shortened(node.op, operands)) return *shorter;
        if (const auto rewritten = without_absolute(node.op, operands)) return *rewritten;
        return emit(node.op, node.type, std::move(operands), node.table ? &node.table->storage() : nullptr);
    }

    int32_t emit_constant(ValueType type, int64_t value) {
        Instruction instruction{.op = Op::kConstant, .type = type, .value = value};
        instruction.is_affine = type == ValueType::kInteger && -kLargestConstant <= value && value <= kLargestConstant;
        instruction.affine.constant = value;
        return add(std::move(instruction));
    }

    int32_t emit(Op op, ValueType type, std::vector<int32_t> operands, const Table::Storage* table = nullptr) {
        Instruction instruction{.op = op, .type = type, .table = table, .operands = std::move(operands)};
        instruction.uses_q = op == Op::kIndexQ;
        instruction.uses_kv = op == Op::kIndexKv;
        for (const int32_t operand : instruction.operands) {
            instruction.uses_q = instruction.uses_q || at(operand).uses_q;
            instruction.uses_kv = instruction.uses_kv || at(operand).uses_kv;
        }
        const Interval over_domain = interval_of(instruction, intervals_, whole_);
        if (over_domain.decided()) return emit_constant(type, over_domain.lo);
        if (!over_domain.may_fail) note_affine(instruction);
        return add(std::move(instruction));
    }

    int32_t add(Instruction instruction) {
        Key key(instruction.op, instruction.type, instruction.value, instruction.table, instruction.operands);
        const auto [place, is_new] =
            by_content_.try_emplace(std::move(key), static_cast<int32_t>(instructions_.size()));
        if (is_new) {
            intervals_.push_back(interval_of(instruction, intervals_, whole_));
            instructions_.push_back(std::move(instruction));
        }
        return place->second;
    }

    const Instruction& at(int32_t id) const { return instructions_[static_cast<size_t>(id)]; }

    std::optional<int64_t> constant(int32_t id) const {
        if (at(id).op != Op::kConstant) return std::nullopt;
        return at(id).value;
    }

    // and, or and conditions whose first operand is constant over the domain.
    std::optional<int32_t> shortened(Op op, const std::vector<int32_t>& operands) const {
        if (op != Op::kAnd && op != Op::kOr && op != Op::kChoice) return std::nullopt;
        const auto condition = constant(operands[0]);
        if (!condition) return std::nullopt;
        if (op == Op::kAnd) return *condition != 0 ? operands[1] : operands[0];
        if (op == Op::kOr) return *condition != 0 ? operands[0] : operands[1];
        const int32_t side = *condition != 0 ? operands[1] : operands[2];
        // A boolean chosen where the other side is an integer counts as one: leave that to the choice itself.
        if (at(operands[1]).type != at(operands[2]).type) return std::nullopt;
        return side;
    }

    // abs(x) <= c is x <= c and x >= -c, which compares rows with columns and needs no matrix of values.
    std::optional<int32_t> without_absolute(Op op, const std::vector<int32_t>& operands) {
        if (op < Op::kLess || op > Op::kGreaterEqual) return std::nullopt;
        int32_t absolute = operands[0], bound = operands[1];
        if (at(bound).op == Op::kAbs) {
            std::swap(absolute, bound);
            op = mirrored(op);
        }
        const auto limit = constant(bound);
        if (at(absolute).op != Op::kAbs || at(absolute).is_affine || !limit || *limit == kLowest) return std::nullopt;
        if (intervals_[static_cast<size_t>(absolute)].may_fail) return std::nullopt;
        const int32_t inner = at(absolute).operands[0];
        const int32_t negated = emit_constant(ValueType::kInteger, -*limit);
        const int32_t above = emit(op, ValueType::kBoolean, {inner, bound});
        const int32_t below = emit(mirrored(op), ValueType::kBoolean, {inner, negated});
        const Op join = op == Op::kLess || op == Op::kLessEqual ? Op::kLogicalAnd : Op::kLogicalOr;
        return emit(join, ValueType::kBoolean, {above, below});
    }

    static Op mirrored(Op op) {
        switch (op) {
            case Op::kLess:
                return Op::kGreater;
            case Op::kLessEqual:
                return Op::kGreaterEqual;
            case Op::kGreater:
                return Op::kLess;
            default:
                return Op::kLessEqual;
        }
    }

    // Called for instructions that cannot fail anywhere in the domain.
    void note_affine(Instruction& instruction) const {
        const auto& operands = instruction.operands;
        for (const int32_t operand : operands) {
            if (!at(operand).is_affine) return;
        }
        const auto affine = [&](size_t i) -> const Affine& { return at(operands[i]).affine; };
        Affine result;
        switch (instruction.op) {
            case Op::kIndexQ:
                result.per_q = 1;
                break;
            case Op::kIndexKv:
                result.per_kv = 1;
                break;
            case Op::kNegate:
                result = scaled(affine(0), -1);
                break;
            case Op::kAdd:
                result = sum(affine(0), affine(1));
                break;
            case Op::kMultiply: {
                const auto left = constant(operands[0]), right = constant(operands[1]);
                if (!left && !right) return;
                const int64_t factor = left ? *left : *right;
                if (factor < -kLargestCoefficient || factor > kLargestCoefficient) return;
                result = scaled(left ? affine(1) : affine(0), factor);
                break;
            }
            default:
                if (instruction.op != Op::kSubtract && !is_comparison(instruction.op)) return;
                result = sum(affine(0), scaled(affine(1), -1));
        }
        const auto within = [](int64_t value, int64_t largest) { return -largest <= value && value <= largest; };
        if (!within(result.per_q, kLargestCoefficient) || !within(result.per_kv, kLargestCoefficient) ||
            !within(result.constant, kLargestConstant)) {
            return;
        }
        instruction.affine = result;
        (is_comparison(instruction.op) ? instruction.compares_affine : instruction.is_affine) = true;
    }

    // Operands lie below the largest coefficient and constant; what leaves 64 bits is made too large to be kept.
    static Affine scaled(const Affine& x, int64_t factor) {
        Affine result{x.per_q * factor, x.per_kv * factor, 0};
        if (__builtin_mul_overflow(x.constant, factor, &result.constant)) result.constant = kHighest;
        return result;
    }
    static Affine sum(const Affine& x, const Affine& y) {
        return {x.per_q + y.per_q, x.per_kv + y.per_kv, x.constant + y.constant};
    }

    Domain domain_;
    int64_t b_, h_;
    Region whole_;
    std::vector<Instruction> instructions_;
    std::vector<Interval> intervals_;  // over the whole domain
    std::map<Key, int32_t> by_content_;
    std::unordered_map<const Node*, int32_t> by_node_;
};

}  // namespace

Program compile(const Predicate& keep, const Domain& domain, int64_t b, int64_t h) {
    Compiler compiler(domain, b, h);
    const int32_t root = compiler.emit_tree(keep.expression().node());
    return {.instructions = compiler.needed_by(root), .predicate = keep, .domain = domain};
}

}  // namespace jali

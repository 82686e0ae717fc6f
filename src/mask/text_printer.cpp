// Trees as text, with no more brackets than Python needs, but one: bit operations are bracketed inside comparisons,
// where readers of C expect another precedence and the parser would warn.
#include <fmt/format.h>

#include "jali/predicate_text.h"
#include "mask/text_names.h"
#include "mask/text_syntax.h"

namespace jali {

namespace {

bool is_comparison(const Node& node) {
    const BinaryOperator* found = binary_operator(node.op);
    return found != nullptr && found->level == Level::kComparison;
}

bool is_bit_operation(const Node& node) {
    const BinaryOperator* found = binary_operator(node.op);
    return found != nullptr && found->level >= Level::kBitOr && found->level <= Level::kBitAnd;
}

// < and <= go up, > and >= go down.
bool same_direction(Op x, Op y) {
    const auto upward = [](Op op) { return op == Op::kLess || op == Op::kLessEqual; };
    const auto downward = [](Op op) { return op == Op::kGreater || op == Op::kGreaterEqual; };
    return (upward(x) && upward(y)) || (downward(x) && downward(y));
}

// Whether `x and y` may be written as one chain, whose last comparison is y.
bool continues(const Node& x, const Node& y) {
    if (!is_comparison(x) || !is_comparison(y) || x.children[1] != y.children[0]) return false;
    return same_direction(x.op, y.op) || !y.children[0]->children.empty();
}

bool is_chain(const Node& node) {
    if (node.op != Op::kAnd || !is_comparison(*node.children[1])) return false;
    const Node& before = *node.children[0];
    if (is_comparison(before)) return continues(before, *node.children[1]);
    return is_chain(before) && continues(*before.children[1], *node.children[1]);
}

Level level_of(const Node& node) {
    switch (node.op) {
        case Op::kChoice:
            return Level::kChoice;
        case Op::kNot:
            return Level::kNot;
        case Op::kNegate:
        case Op::kInvert:
        case Op::kLogicalNot:
            return Level::kUnary;
        default:
            break;
    }
    if (is_chain(node)) return Level::kComparison;
    const BinaryOperator* found = binary_operator(node.op);
    return found == nullptr ? Level::kPrimary : found->level;
}

class Printer {
   public:
    explicit Printer(const Names& names) : names_(names) {}

    // The node where the grammar asks for `level` or tighter.
    void print(const Node& node, Level level) {
        if (level_of(node) < level) return print_bracketed(node);
        print_bare(node);
    }
    std::string take_text() { return std::move(text_); }

   private:
    void print_bracketed(const Node& node) {
        text_ += '(';
        print_bare(node);
        text_ += ')';
    }

    void print_bare(const Node& node) {
        switch (node.op) {
            case Op::kConstant:
                return print_constant(node);
            case Op::kScalar:
                text_ += names_.of(node);
                return;
            case Op::kRead:
                return print_read(node);
            case Op::kNegate:
                return print_negation(node);
            case Op::kInvert:
            case Op::kLogicalNot:
                text_ += '~';
                return print(*node.children[0], Level::kUnary);
            case Op::kNot:
                text_ += "not ";
                return print(*node.children[0], Level::kNot);
            case Op::kChoice:
                return print_choice(node);
            default:
                break;
        }
        if (const Function* function = function_of(node.op)) return print_call(*function, node);
        if (binary_operator(node.op) != nullptr) return print_binary(node);
        text_ += name_of_index(node.op);
    }

    void print_constant(const Node& node) {
        if (node.type == ValueType::kBoolean) {
            text_ += node.value != 0 ? "True" : "False";
        } else {
            text_ += fmt::format("{}", node.value);
        }
    }

    // -5 is the constant; the negation of the constant 5 is -(5).
    void print_negation(const Node& node) {
        const Node& operand = *node.children[0];
        text_ += '-';
        const bool literal = operand.op == Op::kConstant && operand.type == ValueType::kInteger && operand.value >= 0;
        if (literal) return print_bracketed(operand);
        print(operand, Level::kUnary);
    }

    void print_list(const std::vector<NodePointer>& children) {
        for (size_t i = 0; i < children.size(); ++i) {
            if (i > 0) text_ += ", ";
            print(*children[i], Level::kChoice);
        }
    }

    void print_read(const Node& node) {
        text_ += names_.of(node);
        text_ += '[';
        print_list(node.children);
        text_ += ']';
    }

    void print_call(const Function& function, const Node& node) {
        text_ += function.name;
        text_ += '(';
        print_list(node.children);
        text_ += ')';
    }

    void print_choice(const Node& node) {
        print(*node.children[1], Level::kOr);
        text_ += " if ";
        print(*node.children[0], Level::kOr);
        text_ += " else ";
        print(*node.children[2], Level::kChoice);
    }

    void print_binary(const Node& node) {
        if (is_comparison(node)) {
            print_compared(*node.children[0]);
            return print_comparison_after(node);
        }
        if (is_chain(node)) {
            print_bare(*node.children[0]);
            return print_comparison_after(*node.children[1]);
        }
        const BinaryOperator& found = *binary_operator(node.op);
        print(*node.children[0], found.level);
        text_ += fmt::format(" {} ", found.text);
        print(*node.children[1], tighter(found.level));
    }

    // The sign and the right side of a comparison whose left side is written already.
    void print_comparison_after(const Node& comparison) {
        text_ += fmt::format(" {} ", binary_operator(comparison.op)->text);
        print_compared(*comparison.children[1]);
    }

    void print_compared(const Node& node) {
        if (is_bit_operation(node)) return print_bracketed(node);
        print(node, Level::kBitOr);
    }

    const Names& names_;
    std::string text_;
};

}  // namespace

std::string to_text(const Expression& expression) {
    const Names names(expression);
    Printer printer(names);
    printer.print(expression.node(), Level::kChoice);
    return printer.take_text();
}

std::string to_text(const Predicate& keep) {
    return to_text(keep.expression());
}

Bindings bindings_of(const Predicate& keep) {
    return Names(keep.expression()).bindings();
}

}  // namespace jali

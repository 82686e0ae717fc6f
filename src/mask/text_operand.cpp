#include "mask/text_operand.h"

#include <fmt/format.h>

#include "jali/error.h"
#include "jali/table.h"

namespace jali {

namespace {

bool is_bit_operator(const Expression& expression) {
    const BinaryOperator* found = binary_operator(expression.node().op);
    return found != nullptr && found->level >= Level::kBitOr && found->level <= Level::kBitAnd;
}

// Whether a bit operation has a boolean among its operands: a condition that was meant to stand by itself.
bool joins_a_boolean(const Expression& expression) {
    for (const NodePointer& child : expression.node().children) {
        const Expression operand(child);
        if (operand.type() == ValueType::kBoolean) return true;
        if (is_bit_operator(operand) && joins_a_boolean(operand)) return true;
    }
    return false;
}

bool stands_bare(const Operand& operand) {
    return operand.level >= Level::kBitOr && operand.level <= Level::kBitAnd;
}

std::string_view source(std::string_view text, const Operand& operand) {
    return text.substr(operand.begin, operand.end - operand.begin);
}

std::string with_brackets(std::string_view text, const std::vector<Operand>& compared,
                          const std::vector<Token>& signs) {
    std::string reading;
    for (size_t i = 0; i < compared.size(); ++i) {
        if (i > 0) reading += fmt::format(" {} ", signs[i - 1].text);
        const std::string_view operand = source(text, compared[i]);
        reading += stands_bare(compared[i]) ? fmt::format("({})", operand) : std::string(operand);
    }
    return reading;
}

}  // namespace

void fail(size_t position, const std::string& message) {
    throw ParseError(fmt::format("column {}: {}", position + 1, message), static_cast<int64_t>(position) + 1);
}

std::string quote(std::string_view text, const Operand& operand) {
    return shortened(source(text, operand));
}

void require_boolean(std::string_view text, const Operand& operand, std::string_view user) {
    if (operand.expression.type() == ValueType::kBoolean) return;
    const std::string quoted = quote(text, operand);
    const bool whole = quoted.size() == source(text, operand).size();
    const bool loose = operand.level == Level::kChoice;
    fail(operand.begin, fmt::format("{} needs a boolean but '{}' is an integer: {}", user, quoted,
                                    !whole  ? "compare it, for example with '!= 0'"
                                    : loose ? fmt::format("write '({}) != 0'", quoted)
                                            : fmt::format("write '{} != 0'", quoted)));
}

Expression build(Op op, std::vector<Expression> operands, size_t position) {
    try {
        return make(op, std::move(operands));
    } catch (const Error& error) {
        fail(position, error.what());
    }
}

Expression build_read(const Table& table, const std::vector<Expression>& indices, size_t position) {
    try {
        return make_read(table, indices);
    } catch (const Error& error) {
        fail(position, error.what());
    }
}

std::optional<std::string> warning_of_bit_operator(std::string_view text, const std::vector<Operand>& compared,
                                                   const std::vector<Token>& signs) {
    for (size_t i = 0; i < compared.size(); ++i) {
        const Operand& operand = compared[i];
        if (!stands_bare(operand)) continue;
        const bool inside = i > 0 && i + 1 < compared.size();
        if (!inside && !joins_a_boolean(operand.expression)) continue;
        const std::string_view bits = binary_operator(operand.expression.node().op)->text;
        const std::string_view words = bits == "&"   ? "'and' or brackets"
                                       : bits == "|" ? "'or' or brackets"
                                                     : "brackets";
        return fmt::format("column {}: '{}' binds tighter than '{}', so this reads '{}': write {} to say what is meant",
                           operand.joint + 1, bits, signs[i > 0 ? i - 1 : 0].text,
                           shortened(with_brackets(text, compared, signs)), words);
    }
    return std::nullopt;
}

}  // namespace jali

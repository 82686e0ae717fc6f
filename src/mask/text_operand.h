// What the parser knows of a part of the text that it has read: its tree and where it stands, so that errors and
// warnings can show it in the user's own spelling.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jali/predicate.h"
#include "mask/text_syntax.h"
#include "mask/text_token.h"

namespace jali {

struct Operand {
    Expression expression;
    size_t begin, end;  // bytes of the text, brackets included
    Level level;        // of its outermost operator; kPrimary inside brackets
    size_t joint = 0;   // where that operator stands
};

// Throws ParseError "column 3: ..."; `position` counts from 0.
[[noreturn]] void fail(size_t position, const std::string& message);

// The operand as it stands in the text, or its beginning.
std::string quote(std::string_view text, const Operand& operand);

// Throws where the operand of `user` ("'and'", "the predicate") is an integer, and suggests the comparison to write.
void require_boolean(std::string_view text, const Operand& operand, std::string_view user);

// make() and make_read(), whose errors then point at `position`.
Expression build(Op op, std::vector<Expression> operands, size_t position);
Expression build_read(const Table& table, const std::vector<Expression>& indices, size_t position);

// A warning where a & | ^ without brackets took an operand away from a comparison, as in
// `doc[q] == doc[kv] & q >= kv`. `signs` are the comparisons between the operands.
std::optional<std::string> warning_of_bit_operator(std::string_view text, const std::vector<Operand>& compared,
                                                   const std::vector<Token>& signs);

}  // namespace jali

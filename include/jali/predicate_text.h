// The text and JSON forms of predicates (docs/masks.md describes the language).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jali/predicate.h"

namespace jali {

// What the names of a text stand for.
struct Bindings {
    std::map<std::string, int64_t> scalars;
    std::map<std::string, Table> tables;
};

struct ParsedPredicate {
    Predicate predicate;
    std::vector<std::string> warnings;  // legal but rarely meant: `doc[q] == doc[kv] & q >= kv`
};

// Parses the text form: an expression of Python, with Python's precedence and meaning.
// Throws ParseError with the column and what was expected there.
ParsedPredicate parse_predicate(std::string_view text, const Bindings& bindings = {});

// Text that parses back, with bindings_of(keep), to the same tree. Two different tables of one name are told apart by
// a suffix (doc, doc_2), tables without a name are t, t_2, ...
std::string to_text(const Predicate& keep);
std::string to_text(const Expression& expression);
Bindings bindings_of(const Predicate& keep);

// One entry of the JSON form: {"name", "text", "B", "H", "q_len", "kv_len", "scalars", "tables", ...}; other members
// are ignored. `tables` maps a name to {"dtype": "int64" | "bool", "shape": [...], "values": [...]}.
struct MaskSpecification {
    std::string name;
    Predicate predicate;
    Domain domain;
    std::vector<std::string> warnings;
};

// Reads a JSON text holding one entry or a list of them. Throws Error naming the entry and the member that is wrong.
std::vector<MaskSpecification> parse_specifications(std::string_view json);
// The entry as JSON text; parse_specifications gives the same predicate back.
std::string to_json(const MaskSpecification& specification);

}  // namespace jali

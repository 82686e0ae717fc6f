// Each thing that can be wrong with a text, with its message and its column.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "jali/error.h"
#include "jali/predicate_text.h"

namespace jali {
namespace {

Bindings bindings() {
    const std::vector<int64_t> integers{0, 0, 1, 1, 2, 2};
    const std::vector<uint8_t> booleans{0, 1, 1, 0};
    Bindings all;
    all.scalars = {{"w", 300}};
    all.tables.emplace("doc", Table("doc", integers));
    all.tables.emplace("grid", Table::integers("grid", integers, {2, 3}));
    all.tables.emplace("seen", Table::booleans("seen", booleans, {4}));
    return all;
}

// "column 3: ..." names the column that the error carries.
std::string message_of(std::string_view text, const Bindings& names = bindings()) {
    try {
        parse_predicate(text, names);
        return "parses";
    } catch (const ParseError& error) {
        std::string message = error.what();
        EXPECT_TRUE(message.starts_with("column " + std::to_string(error.column()) + ": ")) << message;
        return message;
    }
}

struct Case {
    std::string text, message;
};

void expect_messages(const std::vector<Case>& cases) {
    for (const Case& each : cases) EXPECT_EQ(message_of(each.text), each.message) << "in: " << each.text;
}

const std::string kKnown = "the names here are b, h, q, kv, q_len, kv_len, w, doc, grid, seen";

TEST(ParseErrors, AValueThatIsMissing) {
    expect_messages({
        {"", "column 1: the text is empty: expected a predicate, for example 'q >= kv'"},
        {"  \n", "column 4: the text is empty: expected a predicate, for example 'q >= kv'"},
        {"q >=", "column 5: expected a value after '>=' but the text ends"},
        {"q >= kv and", "column 12: expected a value after 'and' but the text ends"},
        {"and q >= kv", "column 1: expected a value but found 'and'"},
        {"if q > 3", "column 1: expected a value but found 'if'"},
        {"q > * 3", "column 5: expected a value after '>' but found '*'"},
        {"()", "column 2: expected a value after '(' but found ')'"},
        {"[q]", "column 1: expected a value but found '['"},
        {"doc[] == 1", "column 5: expected an index after '[' but found ']'"},
        {"grid[q][] == 1", "column 9: expected an index after '[' but found ']'"},
        {"max(*doc) > 3", "column 5: expected a value after '(' but found '*'"},
        {"min(q,, 3) > 3", "column 7: expected a value after ',' but found ','"},
        {"not", "column 4: expected a value after 'not' but the text ends"},
        {"q == not kv > 3", "column 6: 'not' binds looser than the '==' before it: write '(not ...)'"},
        {"- not q", "column 3: 'not' binds looser than the '-' before it: write '(not ...)'"},
    });
}

TEST(ParseErrors, SomethingAfterAValue) {
    expect_messages({
        {"q kv", "column 3: expected an operator or the end of the text but found 'kv'"},
        {"q > 3, kv", "column 6: expected an operator or the end of the text but found ','"},
        {"(q, kv)", "column 3: expected an operator or ')' for the '(' at column 1 but found ','"},
        {"q > 3 else kv", "column 7: expected an operator or the end of the text but found 'else'"},
        {"q > 3 not", "column 7: expected an operator or the end of the text but found 'not'"},
        {"q > 3 if kv > 3", "column 16: expected an operator or 'else' for the 'if' at column 7 but the text ends"},
        {"q if kv > 3 if", "column 13: expected an operator or 'else' for the 'if' at column 3 but found 'if'"},
        {"min(q if kv > 3, 2)", "column 16: expected an operator or 'else' for the 'if' at column 7 but found ','"},
    });
}

TEST(ParseErrors, BracketsThatDoNotMatch) {
    expect_messages({
        {"(q >= kv", "column 9: expected an operator or ')' for the '(' at column 1 but the text ends"},
        {"q >= kv)", "column 8: ')' closes no bracket"},
        {"q >= kv]", "column 8: ']' closes no bracket"},
        {"q > (3]", "column 7: expected an operator or ')' for the '(' at column 5 but found ']'"},
        {"doc[q == 1", "column 11: expected an operator, ',' or ']' for the '[' at column 4 but the text ends"},
        {"doc[q) == 1", "column 6: expected an operator, ',' or ']' for the '[' at column 4 but found ')'"},
        {"min(q, kv > 3", "column 14: expected an operator, ',' or ')' for the '(' at column 4 but the text ends"},
        {std::string(1001, '('), "column 1001: brackets are nested more than 1000 deep"},
    });
}

TEST(ParseErrors, NamesThatNothingHas) {
    expect_messages({
        {"foo > 3", "column 1: unknown name 'foo': " + kKnown},
        {"q > 3 and dok[q] == 1", "column 11: unknown name 'dok': " + kKnown},
        {"clip(q, 1, 2) > 3", "column 1: unknown name 'clip': " + kKnown},
        {"kv_idx > 3", "column 1: 'kv_idx' is not in the language: write 'kv'"},
        {"true", "column 1: 'true' is not in the language: write 'True'"},
    });
    Bindings many;
    for (const char* name : {"a1", "a2", "a3", "a4", "a5", "a6", "a7"}) many.scalars.emplace(name, 1);
    EXPECT_EQ(
        message_of("foo", many),
        "column 1: unknown name 'foo': the names here are b, h, q, kv, q_len, kv_len, a1, a2, a3, a4, a5, a6, ...");
}

TEST(ParseErrors, TablesAndIndices) {
    expect_messages({
        {"doc > 3", "column 1: the table 'doc' needs its index: write 'doc[...]'"},
        {"doc(q) > 3", "column 1: the table 'doc' needs its index: write 'doc[...]'"},
        {"q > 3 and doc[q, kv] > 3", "column 11: table doc has rank 1 but is read with 2 indices"},
        {"grid[q] > 3", "column 1: table grid has rank 2 but is read with 1 index"},
        {"grid[q][kv][b] > 3", "column 1: table grid has rank 2 but is read with 3 indices"},
        {"w[3] > 2", "column 2: 'w' is no table and has no index"},
        {"(q + 3)[2] > 3", "column 8: '(q + 3)' is no table and has no index"},
        {"-3[2] > 3", "column 3: '-3' is no table and has no index"},
        {"grid[q, kv](b) > 2", "column 12: 'grid[q, kv]' is no function and cannot be called"},
        {"doc[1:2] > 3", "column 6: ':' is not in the language: an index is one integer, and there are no slices"},
    });
}

TEST(ParseErrors, CallsOfFunctions) {
    expect_messages({
        {"abs > 3", "column 1: 'abs' is a function: write 'abs(...)'"},
        {"abs() > 3", "column 1: abs takes 1 operand but has 0"},
        {"q > abs(1, 2)", "column 5: abs takes 1 operand but has 2"},
        {"min(1) > 3", "column 1: min takes at least 2 operands but has 1"},
        {"clamp(q, 3) > 3", "column 1: clamp takes 3 operands but has 2"},
        {"where(q > 3, 3) > 3", "column 1: where takes 3 operands but has 2"},
        {"clamp(q, lo=1, hi=3) > 3", "column 10: operands are given by position, without 'lo ='"},
        {"q(3) > 3", "column 2: 'q' is no function and cannot be called"},
        {"select(q > 3, 1, 2) > 1", "column 1: 'select' is not in the language: write 'x if c else y'"},
    });
}

TEST(ParseErrors, IntegersWhereABooleanMustStand) {
    expect_messages({
        {"q - kv", "column 1: the predicate needs a boolean but 'q - kv' is an integer: write 'q - kv != 0'"},
        {"1 if kv > 3 else 5",
         "column 1: the predicate needs a boolean but '1 if kv > 3 else 5' is an integer: "
         "write '(1 if kv > 3 else 5) != 0'"},
        {"q and kv > 3", "column 1: 'and' needs a boolean but 'q' is an integer: write 'q != 0'"},
        {"kv > 3 or doc[q]", "column 11: 'or' needs a boolean but 'doc[q]' is an integer: write 'doc[q] != 0'"},
        {"not q & 1", "column 5: 'not' needs a boolean but 'q & 1' is an integer: write 'q & 1 != 0'"},
        {"True if (w) else False", "column 9: 'if' needs a boolean but '(w)' is an integer: write '(w) != 0'"},
        {"where(q, True, False)",
         "column 7: the condition of where needs a boolean but 'q' is an integer: write 'q != 0'"},
        {"q\n+ kv and True", "column 1: 'and' needs a boolean but 'q + kv' is an integer: write 'q + kv != 0'"},
        {"q + 1000000000000 + 1000000000000 + 1000000000000 + 1000000000000",
         "column 1: the predicate needs a boolean but 'q + 1000000000000 + 1000000000000 + 1000000000000 + "
         "10000000...' "
         "is an integer: compare it, for example with '!= 0'"},
    });
}

TEST(ParseErrors, Numbers) {
    expect_messages({
        {"q > 1.5", "column 5: '1.5' is not an integer: predicates have no floating point"},
        {"q > .5", "column 5: '.5' is not an integer: predicates have no floating point"},
        {"q > 1e5", "column 5: '1e5' is not an integer: predicates have no floating point"},
        {"012 > q", "column 1: '012' has leading zeros: write 12, or 0o12 for an octal number"},
        {"089 > q", "column 1: '089' has leading zeros: write 89"},
        {"1__0 > q", "column 1: '1__0' is not a number"},
        {"1_ > q", "column 1: '1_' is not a number"},
        {"0x > q", "column 1: '0x' is not a number"},
        {"0b102 > q", "column 1: '0b102' is not a number"},
        {"3kv > q", "column 1: '3kv' is not a number"},
        {"q < 9223372036854775808", "column 5: the integer 9223372036854775808 does not fit in 64 signed bits"},
        {"q > -9223372036854775809", "column 6: the integer 9223372036854775809 does not fit in 64 signed bits"},
        {"q > -(9223372036854775808)", "column 7: the integer 9223372036854775808 does not fit in 64 signed bits"},
        {"q < 0x10000000000000000", "column 5: the integer 0x10000000000000000 does not fit in 64 signed bits"},
    });
}

TEST(ParseErrors, WhatOtherLanguagesWrite) {
    const auto refused = [](const std::string& column, const std::string& found, const std::string& advice) {
        return "column " + column + ": '" + found + "' is not in the language: " + advice;
    };
    expect_messages({
        {"q / 2 > 3", refused("3", "/", "write '//', which rounds down")},
        {"q ** 2 > 3", refused("3", "**", "multiply, or shift with '<<'")},
        {"q = kv", refused("3", "=", "write '==' to compare")},
        {"q > 3 && kv > 3", refused("7", "&&", "write 'and'")},
        {"q > 3 || kv > 3", refused("7", "||", "write 'or'")},
        {"!(q > 3)", refused("1", "!", "write 'not'")},
        {"q > 3 ? True : False", refused("7", "?", "write 'x if c else y'")},
        {"q is kv", refused("3", "is", "compare with '=='")},
        {"q in kv", refused("3", "in", "compare with '==' and join with 'or'")},
        {"q == None", refused("6", "None", "a value is an integer, True or False")},
        {"lambda q: q", refused("1", "lambda", "write the expression by itself")},
        {"'a' == q", refused("1", "'", "there are no strings")},
        {"\"a\" == q", refused("1", "\"", "there are no strings")},
        {"q > 3 # comment", refused("7", "#", "there are no comments")},
        {"q > 3; kv > 3", refused("6", ";", "a predicate is one expression")},
        {"q := 3", refused("3", ":=", "a predicate assigns nothing")},
        {"q <> 3", refused("3", "<>", "write '!='")},
        {"q => 3", refused("3", "=>", "write '>='")},
        {"q =< 3", refused("3", "=<", "write '<='")},
        {"q === 3", refused("3", "===", "write '=='")},
        {"q !== 3", refused("3", "!==", "write '!='")},
        {"q @ 3", refused("3", "@", "multiply with '*'")},
        {"{q}", refused("1", "{", "group with '('")},
        {"(q).x", refused("4", ".", "values have no members")},
        {"q mod 3", refused("3", "mod", "write '%'")},
        {"q ≥ kv", refused("3", "≥", "write '>='")},
        {"q − kv > 3", refused("3", "−", "write '-'")},
        {"q $ 3", "column 3: '$' is not in the language"},
        {"q > é", "column 5: the byte 0xc3 is not in the language: names and numbers are ASCII"},
        {std::string("q\0> 3", 5), "column 2: the byte 0x00 is not in the language: names and numbers are ASCII"},
    });
}

// Of two errors the first is reported.
TEST(ParseErrors, TheFirstOfTwo) {
    EXPECT_EQ(message_of("q kv 1.5"), "column 3: expected an operator or the end of the text but found 'kv'");
    EXPECT_EQ(message_of("foo / 2"), "column 1: unknown name 'foo': " + kKnown);
}

// The rows `| `text` | `message` |` below the heading.
std::vector<Case> documented() {
    std::ifstream file(JALI_TEST_DATA "/../../docs/masks.md");
    std::vector<Case> cases;
    bool found = false;
    for (std::string line; std::getline(file, line);) {
        found = found || line == "## Error messages";
        const size_t between = line.find("` | `");
        if (!found || !line.starts_with("| `") || between == line.npos) continue;
        cases.push_back({line.substr(3, between - 3), line.substr(between + 5, line.size() - between - 8)});
    }
    return cases;
}

TEST(ParseErrors, AreAsTheDocumentationSays) {
    const std::vector<Case> cases = documented();
    EXPECT_EQ(cases.size(), 14u);
    expect_messages(cases);
}

TEST(ParseErrors, TreesThatAreTooLarge) {
    std::string deep = "q";
    for (int i = 0; i < 1000; ++i) deep += " + 1";
    EXPECT_EQ(message_of(deep), "column 3999: the predicate is nested more than 1000 levels deep");
    std::string opening, closing;
    for (int i = 0; i < 30; ++i) {
        opening += "0 < (";
        closing += ") < 2";
    }
    const std::string shared = opening + "q" + closing;
    EXPECT_NE(message_of(shared).find("the predicate has more than 20000 nodes"), std::string::npos);
}

std::string binding_message(const Bindings& names) {
    try {
        parse_predicate("True", names);
        return "parses";
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(ParseErrors, BindingsThatNoTextCanUse) {
    const Table table("t", std::vector<int64_t>{1});
    EXPECT_EQ(binding_message({{{"q", 1}}, {}}), "the scalar 'q' has a name of the language: choose another");
    EXPECT_EQ(binding_message({{{"True", 1}}, {}}), "the scalar 'True' has a name of the language: choose another");
    EXPECT_EQ(binding_message({{}, {{"min", table}}}), "the table 'min' has a name of the language: choose another");
    EXPECT_EQ(binding_message({{}, {{"lambda", table}}}),
              "the table 'lambda' has a name of the language: choose another");
    EXPECT_EQ(binding_message({{}, {{"my table", table}}}),
              "the table 'my table' needs a name of ASCII letters, digits and '_' that begins with no digit");
    EXPECT_EQ(binding_message({{{"", 3}}, {}}),
              "the scalar '' needs a name of ASCII letters, digits and '_' that begins with no digit");
    EXPECT_EQ(binding_message({{{"x", 3}}, {{"x", table}}}), "the name 'x' stands for both a scalar and a table");
}

}  // namespace
}  // namespace jali

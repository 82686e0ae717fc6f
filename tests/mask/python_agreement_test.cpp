// The text form means what Python means: precedence, associativity, chains, floor division, short circuits. The answers
// were found by Python (tests/data/make_python_expressions.py).
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "jali/error.h"
#include "jali/predicate_text.h"

namespace jali {
namespace {

struct Line {
    std::string answer, text;
};

std::vector<Line> lines() {
    std::ifstream file(JALI_TEST_DATA "/python_expressions.txt");
    std::vector<Line> all;
    for (std::string line; std::getline(file, line);) {
        const size_t tab = line.find('\t');
        all.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
    return all;
}

// As in make_python_expressions.py.
struct Point {
    int64_t b, h, q, kv;
};
constexpr std::array<Point, 3> kPoints{{{1, 2, 5, 3}, {0, 1, 2, 7}, {2, 0, 9, 9}}};
const Domain kDomain{.batch = 3, .heads = 3, .q_len = 10, .kv_len = 12};

Bindings bindings() {
    Bindings all;
    all.scalars = {{"w", 4}};
    all.tables.emplace("doc", Table("doc", std::vector<int64_t>{0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3, 4}));
    return all;
}

// The message of the error that parsing throws; empty where it throws none.
std::string error_of(const std::string& text) {
    try {
        parse_predicate(text, bindings());
        return {};
    } catch (const ParseError& error) {
        return error.what();
    }
}

// Holds where the text has the value at the point. An integer text is compared with it in brackets, so that its own
// operators bind as they stand.
bool has_value(const std::string& text, const std::string& value, const Point& point) {
    const bool boolean = value == "True" || value == "False";
    const std::string predicate = boolean ? text : "(" + text + ") == " + value;
    const bool expected = value != "False";
    const Predicate keep = parse_predicate(predicate, bindings()).predicate;
    return evaluate(keep, kDomain, point.b, point.h, point.q, point.kv) == expected;
}

TEST(PythonAgreement, EveryTextHasPythonsAnswer) {
    std::map<std::string, int> seen;
    for (const auto& [answer, text] : lines()) {
        SCOPED_TRACE(text);
        const std::string error = error_of(text);
        if (answer == "syntax") {
            ++seen["syntax"];
            EXPECT_NE(error, "");
            continue;
        }
        if (answer == "type") {
            ++seen["type"];
            EXPECT_NE(error.find("needs a boolean"), error.npos) << error;
            continue;
        }
        const bool boolean = answer[0] == 'T' || answer[0] == 'F';
        ++seen[boolean ? "boolean" : "integer"];
        EXPECT_EQ(error.find("the predicate needs a boolean") == error.npos, boolean) << error;
        std::istringstream values(answer);
        std::string value;
        for (const Point& point : kPoints) {
            values >> value;
            EXPECT_TRUE(has_value(text, value, point)) << "q = " << point.q << " must give " << value;
        }
    }
    // The file was found and is whole.
    EXPECT_EQ(seen["syntax"], 150);
    EXPECT_EQ(seen["type"], 80);
    EXPECT_EQ(seen["boolean"] + seen["integer"], 400);
    EXPECT_GT(seen["boolean"], 100);
}

}  // namespace
}  // namespace jali

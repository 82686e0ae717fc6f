// The text form: what parses to what, and what prints how.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "jali/error.h"
#include "jali/predicate_text.h"
#include "mask/node.h"

namespace jali {
namespace {

using namespace indices;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<int64_t> kIntegers{0, 0, 1, 1, 2, 2};
const std::vector<uint8_t> kBooleans{0, 1, 1, 0};
const Table kDoc("doc", kIntegers);
const Table kGrid = Table::integers("grid", kIntegers, {2, 3});
const Table kSeen = Table::booleans("seen", kBooleans, {4});

Bindings bindings() {
    Bindings all;
    all.scalars = {{"w", 300}, {"n", 4}};
    for (const Table& table : {kDoc, kGrid, kSeen}) all.tables.emplace(table.name(), table);
    return all;
}

ParsedPredicate parse(std::string_view text) {
    return parse_predicate(text, bindings());
}

// The tree of an integer text, by way of a comparison that has no other operators at its level.
Expression parse_integer(const std::string& text) {
    const Predicate keep = parse("(" + text + ") == 0").predicate;
    return Expression(keep.expression().node().children[0]);
}

std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Case {
    std::string text;
    Expression tree;
};

void expect_same(const Case& each, const Expression& parsed) {
    EXPECT_TRUE(parsed.same_as(each.tree))
        << each.text << " parsed to " << to_text(parsed) << " and not to " << to_text(each.tree);
}

TEST(Text, SaysWhatTheOperatorsOfCppSay) {
    const Expression w = scalar("w", 300);
    const std::vector<Case> cases{
        {"True", true},
        {"False", false},
        {"q >= kv", q >= kv},
        {"b < h", b < h},
        {"q_len != kv_len", q_len != kv_len},
        {"q + kv_len - q_len >= kv", q + kv_len - q_len >= kv},
        {"kDoc", kDoc[q] == kDoc[kv] && q >= kv},
        {"not q < kv or w > 3", !(q < kv) || w > 3},
        {"seen[kv] & (q > 3) | ~seen[q] ^ (kv <= 4)", (kSeen[kv] & (q > 3)) | (~kSeen[q] ^ (kv <= 4))},
        {"q > 3 if kv < 2 else seen[q]", select(kv<2, q> 3, kSeen[q])},
        {"where(kv < 2, q > 3, seen[q])", where(kv<2, q> 3, kSeen[q])},
    };
    for (Case each : cases) {
        if (each.text == "kDoc") each.text = "doc[q] == doc[kv] and q >= kv";
        expect_same(each, parse(each.text).predicate.expression());
    }
}

TEST(Text, SaysWhatTheIntegerOperatorsOfCppSay) {
    const std::vector<Case> cases{
        {"q + kv * 2 - 1", q + kv * 2 - 1},
        {"q // 7 % 3", floor_mod(floor_div(q, 7), 3)},
        {"1 << kv >> 2", (Expression(1) << kv) >> 2},
        {"q | kv ^ 3 & ~h", q | (kv ^ (Expression(3) & ~h))},
        {"-q - -kv", -q - -kv},
        {"abs(q - kv)", abs(q - kv)},
        {"min(q, kv)", minimum(q, kv)},
        {"max(q, kv, 90)", make(Op::kMaximum, {q, kv, 90})},
        {"clamp(q // 40, 3, 26)", clamp(floor_div(q, 40), 3, 26)},
        {"grid[q, kv]", kGrid(q, kv)},
        {"grid[q][kv]", kGrid(q, kv)},
        {"grid [ q ] [ kv , ]", kGrid(q, kv)},
        {"doc[doc[q] + 1]", kDoc[kDoc[q] + 1]},
        {"1 if q > 3 else 2 if q > 4 else 3", select(q > 3, 1, select(q > 4, 2, 3))},
        {"(1 if q > 3 else 2) if q > 4 else 3", select(q > 4, select(q > 3, 1, 2), 3)},
        {"min(1 if q > 3 else 2, 3,)", minimum(select(q > 3, 1, 2), 3)},
        {"q +\n\tkv", q + kv},
    };
    for (const Case& each : cases) expect_same(each, parse_integer(each.text));
}

TEST(Text, ComparisonsChain) {
    const Expression middle = q - kv;
    expect_same({"two", 0 <= middle && middle < scalar("w", 300)}, parse("0 <= q - kv < w").predicate.expression());
    expect_same({"three", (b < h && h != q) && q == kv}, parse("b < h != q == kv").predicate.expression());
    // Shared, so that a chain of long operands costs no more than it seems to.
    const Predicate chain = parse("0 <= q - kv < w").predicate;
    const Node& both = chain.expression().node();
    EXPECT_EQ(both.children[0]->children[1], both.children[1]->children[0]);
}

TEST(Text, IntegersAreWrittenAsInPython) {
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    const std::vector<Case> cases{
        {"0", 0},
        {"00", 0},
        {"1_000_000", 1'000'000},
        {"0xff", 255},
        {"0XfF", 255},
        {"0x_f_f", 255},
        {"0o17", 15},
        {"0b101", 5},
        {"9223372036854775807", std::numeric_limits<int64_t>::max()},
        {"-9223372036854775808", kLeast},
        {"-0x8000000000000000", kLeast},
        {"- 9_223_372_036_854_775_808", kLeast},
    };
    for (const Case& each : cases) expect_same(each, parse_integer(each.text));
}

TEST(Text, AMinusBeforeANumberBelongsToTheNumber) {
    const std::vector<Case> cases{
        {"-5", -5},
        {"-(5)", -Expression(5)},
        {"--5", -Expression(-5)},
        {"- 5", -5},
        {"q - 5", q - 5},
        {"q - -5", q - -5},
        {"-5 * q", Expression(-5) * q},
        {"~-5", ~Expression(-5)},
        {"-~5", -~Expression(5)},
    };
    for (const Case& each : cases) expect_same(each, parse_integer(each.text));
}

TEST(Text, APlusKeepsAnIntegerAndMakesOneOfABoolean) {
    expect_same({"+q", q}, parse_integer("+q"));
    expect_same({"++5", 5}, parse_integer("++5"));
    expect_same({"-+5", -Expression(5)}, parse_integer("-+5"));
    expect_same({"+(q > kv)", 0 + (q > kv)}, parse_integer("+(q > kv)"));
}

// Prints with no more brackets than these.
TEST(Text, PrintsAsFewBracketsAsPythonNeeds) {
    const std::vector<std::string> texts{
        "q >= kv and (q - kv < 256 or kv < 4)",
        "(q >= kv or kv < 4) and not (q < 3 and kv < 5)",
        "not not q < kv",
        "(not q < kv) == True",
        "(q < kv) == (kv < 3)",
        "0 <= q - kv < w",
        "w > kv >= q",
        "q < 3 and 3 < kv",
        "q - (kv - 1) - 2 == -(q + 1)",
        "q // (kv * 2) % 3 == q * (kv % 2)",
        "(q + 1) * 2 << (kv << 1) == 4",
        "1 << q + 1 == 4",
        "(q & 1) == (kv | 2)",
        "seen[kv] & (kv >= 50) ^ (q == 3) | ~(q > kv)",
        "(seen[q] | seen[kv]) & seen[h]",
        "-q == ~kv",
        "-(5) == --5",
        "~(q + kv) == -abs(q)",
        "(True if q < 3 else False) if kv < 3 else True if q < 4 else False",
        "(q if q < kv else kv) + 1 == 2",
        "not (True if q < 3 else False)",
        "where(True if q < 3 else False, q if seen[q] else 2, 3) == 3",
        "grid[q % 7, grid[kv, 0]] + doc[-1] == clamp(q, 0, 9)",
    };
    for (const std::string& text : texts) EXPECT_EQ(to_text(parse(text).predicate), text);
    EXPECT_EQ(to_text(parse("((q) >= ((kv))) and (((w)) > (3))").predicate), "q >= kv and w > 3");
    EXPECT_EQ(to_text(parse("grid[q][kv] > 0x10").predicate), "grid[q, kv] > 16");
}

TEST(Text, ASubexpressionPrints) {
    EXPECT_EQ(to_text(kDoc[q] + scalar("w", 300) * 2), "doc[q] + w * 2");
    EXPECT_EQ(to_text(Expression(std::numeric_limits<int64_t>::min())), "-9223372036854775808");
    EXPECT_EQ(to_text(-Expression(std::numeric_limits<int64_t>::min())), "--9223372036854775808");
}

void expect_round_trip(const Predicate& keep) {
    const std::string text = to_text(keep);
    const ParsedPredicate again = parse_predicate(text, bindings_of(keep));
    EXPECT_TRUE(again.predicate.same_as(keep)) << text;
    EXPECT_THAT(again.warnings, IsEmpty()) << text;
    EXPECT_EQ(to_text(again.predicate), text);
}

TEST(Text, EveryMaskOfTheZooComesBack) {
    const std::vector<MaskSpecification> masks = parse_specifications(content(JALI_TEST_DATA "/masks.json"));
    EXPECT_EQ(masks.size(), 39u);
    for (const MaskSpecification& mask : masks) {
        SCOPED_TRACE(mask.name);
        EXPECT_THAT(mask.warnings, IsEmpty());
        expect_round_trip(mask.predicate);
    }
}

// The texts as their authors wrote them; a bar is escaped inside a table of Markdown.
TEST(Text, EveryMaskOfTheZooIsDocumented) {
    const std::string page = content(JALI_TEST_DATA "/../../docs/masks.md");
    for (const auto& mask : nlohmann::json::parse(content(JALI_TEST_DATA "/masks.json"))) {
        std::string text = mask["text"];
        for (size_t bar = text.find('|'); bar != text.npos; bar = text.find('|', bar + 2)) text.insert(bar, "\\");
        const std::string row = "| `" + mask["name"].get<std::string>() + "` | `" + text + "` | ";
        EXPECT_NE(page.find(row), page.npos) << row;
    }
}

TEST(Text, DifferentTablesOfOneNameAreToldApart) {
    const std::vector<int64_t> others{7, 7, 7, 7, 7, 7};
    const Table same("doc", kIntegers);
    const Table other("doc", others);
    const Table taken("doc_2", others);
    const Predicate keep = kDoc[q] == other[kv] && same[q] == taken[kv];
    EXPECT_EQ(to_text(keep), "doc[q] == doc_3[kv] and doc[q] == doc_2[kv]");
    expect_round_trip(keep);
}

TEST(Text, TablesThatTheTextFormCannotNameGetALegalName) {
    const Table nameless("", kIntegers);
    const Table another = Table::integers("", kIntegers, {3, 2});
    const Table reserved("kv", kIntegers);
    const Table keyword("lambda", kIntegers);
    const Table spaced("my documents", kIntegers);
    const Table digit("3d", kIntegers);
    const Predicate keep = nameless[q] == another(q, kv) && reserved[q] == keyword[q] && spaced[q] == digit[q];
    EXPECT_EQ(to_text(keep), "t[q] == t_2[q, kv] and kv_[q] == lambda_[q] and my_documents[q] == _3d[q]");
    expect_round_trip(keep);
}

TEST(Text, ScalarsComeBackByTheNameThatIsPrinted) {
    const Predicate keep = kDoc[q] == scalar("doc", 1) && scalar("w", 1) == scalar("w", 2) && scalar("q", 3) == q &&
                           scalar("", 4) == scalar("w", 1);
    EXPECT_EQ(to_text(keep), "doc_2[q] == doc and w == w_2 and q_ == q and n == w");
    const Bindings names = bindings_of(keep);
    EXPECT_THAT(names.scalars, ElementsAre(testing::Pair("doc", 1), testing::Pair("n", 4), testing::Pair("q_", 3),
                                           testing::Pair("w", 1), testing::Pair("w_2", 2)));
    const Predicate again = parse_predicate(to_text(keep), names).predicate;
    EXPECT_EQ(to_text(again), to_text(keep));
    expect_round_trip(again);
}

TEST(Text, TheNameOfABindingIsTheNameOfItsTable) {
    Bindings names;
    names.tables.emplace("ids", Table("something else", kIntegers));
    EXPECT_EQ(to_text(parse_predicate("ids[q] == 0", names).predicate), "ids[q] == 0");
}

TEST(Text, BindingsHoldWhatThePredicateUsesAndNoMore) {
    const Bindings names = bindings_of(parse("doc[q] == n").predicate);
    EXPECT_THAT(names.scalars, ElementsAre(testing::Pair("n", 4)));
    ASSERT_EQ(names.tables.size(), 1u);
    EXPECT_TRUE(names.tables.at("doc").same_values(kDoc));
}

TEST(Text, WarnsWhereABitOperatorTakesTheOperandOfAComparison) {
    EXPECT_THAT(parse("doc[q] == doc[kv] & q >= kv").warnings,
                ElementsAre("column 19: '&' binds tighter than '==', so this reads 'doc[q] == (doc[kv] & q) >= kv': "
                            "write 'and' or brackets to say what is meant"));
    EXPECT_THAT(parse("True and (seen[kv] | kv < 4)").warnings,
                ElementsAre("column 20: '|' binds tighter than '<', so this reads '(seen[kv] | kv) < 4': "
                            "write 'or' or brackets to say what is meant"));
    EXPECT_THAT(parse("q >= kv ^ seen[q]").warnings,
                ElementsAre("column 9: '^' binds tighter than '>=', so this reads 'q >= (kv ^ seen[q])': "
                            "write brackets to say what is meant"));
    EXPECT_THAT(parse("q >= kv & seen[q] & 3").warnings, testing::SizeIs(1));
    EXPECT_THAT(parse("(q >= kv & 3 > 1) == (q == kv & 3 == 1)").warnings, testing::SizeIs(2));
}

TEST(Text, DoesNotWarnWhereThePrecedenceIsMeant) {
    for (const char* text :
         {"doc[q] & 1 == 1", "1 == doc[q] & 1", "(q & 7) < 4", "0 <= (q & 7) < 4", "(q >= kv) & (kv >= 3)",
          "seen[q] & seen[kv]", "(seen[q] | kv) < 3", "q == kv and q >= kv"}) {
        EXPECT_THAT(parse(text).warnings, IsEmpty()) << text;
    }
}

std::string repeated(std::string_view part, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += part;
    return all;
}

// A tree as deep as trees may be, in every way that makes it deep, prints and comes back.
TEST(Text, TheDeepestTreesComeBack) {
    const auto deepened = [](const Expression& start, auto&& step) {
        Expression tree = start;
        while (tree.node().depth < kMaximumDepth - 2) tree = step(tree);
        return tree;
    };
    expect_round_trip(deepened(q, [](const Expression& x) { return x + kv; }) == 0);
    expect_round_trip(deepened(q, [](const Expression& x) { return kv - x; }) == 0);
    expect_round_trip(deepened(q, [](const Expression& x) { return -(x + kv); }) == 0);
    expect_round_trip(deepened(q, [](const Expression& x) { return kDoc[x]; }) == 0);
    expect_round_trip(deepened(q, [](const Expression& x) { return abs(-x); }) == 0);
    expect_round_trip(deepened(q > 0, [](const Expression& x) { return !x; }));
    expect_round_trip(deepened(q > 0, [](const Expression& x) { return !(x && q > kv); }));
    expect_round_trip(deepened(q > 0, [](const Expression& x) { return select(x, q > kv, q < kv); }));
    expect_round_trip(deepened(q > 0, [](const Expression& x) { return select(q > kv, x, q < kv); }));
    expect_round_trip(deepened(q > 0, [](const Expression& x) { return select(q > kv, q < kv, !x); }));
    expect_round_trip(deepened(q > 0, [](const Expression& x) { return x == (q > kv); }));
}

TEST(Text, NothingIsTooDeepToBeRefused) {
    constexpr int kMany = 20'000;
    for (const std::string& text :
         {repeated("(", kMany), repeated("doc[", kMany), repeated("-", kMany) + "q", repeated("~", kMany) + "q",
          repeated("not ", kMany) + "True", "q" + repeated(" + q", kMany), "q" + repeated(" < q", kMany),
          "True" + repeated(" or True", kMany), "True" + repeated(" if True else True", kMany),
          repeated("min(q, ", kMany), repeated("(q > ", kMany), repeated("[", kMany), repeated(")", kMany)}) {
        EXPECT_THROW(parse(text), ParseError) << text.substr(0, 20);
    }
    // Each chain doubles what is counted as nodes.
    EXPECT_THROW(parse(repeated("0 < (", 60) + "q" + repeated(") < 2", 60)), ParseError);
}

}  // namespace
}  // namespace jali

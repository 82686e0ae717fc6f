// The JSON form: what it reads, what it writes, and each thing that can be wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "jali/error.h"
#include "jali/predicate_text.h"

namespace jali {
namespace {

using namespace indices;

std::string zoo() {
    std::ifstream file(JALI_TEST_DATA "/masks.json");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string message_of(std::string_view json) {
    try {
        parse_specifications(json);
        return "parses";
    } catch (const Error& error) {
        return error.what();
    }
}

// A mask with other members than these.
std::string mask_with(const std::string& members) {
    return R"({"name": "m", "text": "True", "q_len": 3, "kv_len": 4, )" + members + "}";
}

std::string table_with(const std::string& members) {
    return mask_with(R"("tables": {"doc": {)" + members + "}}");
}

void expect_same(const MaskSpecification& found, const MaskSpecification& expected) {
    EXPECT_EQ(found.name, expected.name);
    EXPECT_TRUE(found.predicate.same_as(expected.predicate)) << to_text(found.predicate);
    EXPECT_EQ(found.domain.batch, expected.domain.batch);
    EXPECT_EQ(found.domain.heads, expected.domain.heads);
    EXPECT_EQ(found.domain.q_len, expected.domain.q_len);
    EXPECT_EQ(found.domain.kv_len, expected.domain.kv_len);
}

TEST(Specification, SaysWhatCppSays) {
    const std::vector<MaskSpecification> found = parse_specifications(R"({
        "name": "m", "text": "doc[q, kv] == w and seen[b]", "B": 2, "H": 16, "q_len": 2147483647, "kv_len": 0,
        "scalars": {"w": -9223372036854775808},
        "tables": {"doc": {"dtype": "int64", "shape": [2, 1], "values": [9223372036854775807, -1]},
                   "seen": {"dtype": "bool", "shape": [4], "values": [true, false, 0, 1]}},
        "used_by": "nobody", "answer": {"pairs": [[]]}})");
    const std::vector<int64_t> values{INT64_MAX, -1};
    const std::vector<uint8_t> booleans{1, 0, 0, 1};
    const Predicate keep = Table::integers("doc", values, {2, 1})(q, kv) == scalar("w", INT64_MIN) &&
                           Table::booleans("seen", booleans, {4})[b];
    ASSERT_EQ(found.size(), 1u);
    expect_same(found[0], {"m", keep, {.batch = 2, .heads = 16, .q_len = 2147483647, .kv_len = 0}, {}});
}

TEST(Specification, OnlyTextAndLengthsAreNeeded) {
    const auto found = parse_specifications(R"([{"text": "q >= kv", "q_len": 3, "kv_len": 4}])");
    ASSERT_EQ(found.size(), 1u);
    expect_same(found[0], {"", q >= kv, {.batch = 1, .heads = 1, .q_len = 3, .kv_len = 4}, {}});
    EXPECT_TRUE(parse_specifications("[]").empty());
}

TEST(Specification, CarriesTheWarningsOfTheText) {
    EXPECT_EQ(parse_specifications(R"({"text": "b == q & q >= kv", "q_len": 3, "kv_len": 4})")[0].warnings.size(), 1u);
}

TEST(Specification, AnEmptyTableHasItsShape) {
    const auto found = parse_specifications(
        R"({"text": "t[q, kv] > 0", "q_len": 0, "kv_len": 4, "tables": {"t": {"dtype": "int64", "shape": [0, 4], "values": []}}})");
    EXPECT_THAT(bindings_of(found[0].predicate).tables.at("t").shape(), testing::ElementsAre(0, 4));
}

TEST(Specification, EveryMaskOfTheZooComesBack) {
    for (const MaskSpecification& mask : parse_specifications(zoo())) {
        SCOPED_TRACE(mask.name);
        const std::string json = to_json(mask);
        const std::vector<MaskSpecification> again = parse_specifications(json);
        ASSERT_EQ(again.size(), 1u);
        expect_same(again[0], mask);
        EXPECT_EQ(to_json(again[0]), json);
    }
}

TEST(Specification, IsWrittenInTheOrderOfItsReaders) {
    const std::vector<uint8_t> booleans{1, 0};
    const Predicate keep = Table::booleans("seen", booleans, {2, 1})(q, 0) && q < scalar("w", 5);
    EXPECT_EQ(to_json({"m \"1\"", keep, {.batch = 2, .heads = 1, .q_len = 2, .kv_len = 7}, {}}),
              R"({"name":"m \"1\"","text":"seen[q, 0] and q < w","B":2,"H":1,"q_len":2,"kv_len":7,"scalars":{"w":5},)"
              R"("tables":{"seen":{"dtype":"bool","shape":[2,1],"values":[1,0]}}})");
}

TEST(Specification, ANameThatIsNotUtf8IsRefusedWhenWriting) {
    try {
        to_json({"\xff", true, {}, {}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the name of the mask is not UTF-8 and JSON cannot hold it");
    }
}

TEST(SpecificationErrors, TheJsonItself) {
    EXPECT_EQ(message_of(""), "the JSON text ends too early");
    EXPECT_EQ(message_of("[{\"text\": \"True\""), "the JSON text ends too early");
    EXPECT_EQ(message_of("[\n  {,}]"), "the JSON text is wrong at line 2, column 4");
    EXPECT_EQ(message_of("{} x"), "the JSON text is wrong at line 1, column 4");
    EXPECT_EQ(message_of("{\"a\": \"\xff\"}"), "the JSON text is wrong at line 1, column 8");
    EXPECT_EQ(message_of("{\"q_len\": 1e999}"), "the JSON text has a number that is too large");
    EXPECT_EQ(message_of("{\"a\": 1, \"b\": {\"a\": 2}, \"a\": 1}"),
              "the JSON text has member \"a\" twice in one object");
    EXPECT_EQ(message_of(std::string(100, '[') + std::string(100, ']')), "the JSON text is nested more than 64 deep");
    EXPECT_EQ(message_of(std::string(1'000'000, '[')), "the JSON text is nested more than 64 deep");
    EXPECT_EQ(message_of("3"), "the JSON text is 3 and must be a mask or a list of masks");
    EXPECT_EQ(message_of("[3]"), "mask 1 is 3 and must be an object");
    EXPECT_EQ(message_of("[" + mask_with(R"("B": 1)") + ", [1]]"), "mask 2 is a list and must be an object");
    EXPECT_EQ(message_of("[" + mask_with(R"("B": 1)") + "," + mask_with(R"("B": 2)") + "]"),
              "two masks have the name \"m\"");
}

TEST(SpecificationErrors, MembersThatAreMissing) {
    EXPECT_EQ(message_of(R"({"q_len": 1, "kv_len": 2})"), "mask 1: member \"text\" is missing");
    EXPECT_EQ(message_of(R"([{"name": "m", "text": "True", "kv_len": 2}])"), "mask \"m\": member \"q_len\" is missing");
    EXPECT_EQ(message_of(R"({"text": "True", "q_len": 2})"), "mask 1: member \"kv_len\" is missing");
    EXPECT_EQ(message_of(table_with(R"("shape": [1], "values": [2])")),
              "mask \"m\": table \"doc\": member \"dtype\" is missing");
    EXPECT_EQ(message_of(table_with(R"("dtype": "int64", "values": [2])")),
              "mask \"m\": table \"doc\": member \"shape\" is missing");
    EXPECT_EQ(message_of(table_with(R"("dtype": "int64", "shape": [2])")),
              "mask \"m\": table \"doc\": member \"values\" is missing");
}

TEST(SpecificationErrors, MembersOfTheWrongKind) {
    EXPECT_EQ(message_of(R"({"name": 3, "text": "True", "q_len": 1, "kv_len": 2})"),
              "mask 1: member \"name\" is 3 and must be a string");
    EXPECT_EQ(message_of(R"({"name": "a\nb", "text": ["True"], "q_len": 1, "kv_len": 2})"),
              "mask \"a\\nb\": member \"text\" is a list and must be a string");
    EXPECT_EQ(message_of(mask_with(R"("tables": [])")),
              "mask \"m\": member \"tables\" is a list and must be an object");
    EXPECT_EQ(message_of(mask_with(R"("scalars": 3)")), "mask \"m\": member \"scalars\" is 3 and must be an object");
    EXPECT_EQ(message_of(mask_with(R"("tables": {"doc": 3})")),
              "mask \"m\": table \"doc\": is 3 and must be an object");
    EXPECT_EQ(message_of(table_with(R"("dtype": "int64", "shape": 2, "values": [2])")),
              "mask \"m\": table \"doc\": member \"shape\" is 2 and must be a list");
    EXPECT_EQ(message_of(table_with(R"("dtype": "int64", "shape": [2], "values": {})")),
              "mask \"m\": table \"doc\": member \"values\" is an object and must be a list");
    EXPECT_EQ(message_of(table_with(R"("dtype": "int32", "shape": [1], "values": [2])")),
              "mask \"m\": table \"doc\": member \"dtype\" is \"int32\" and must be \"int64\" or \"bool\"");
}

TEST(SpecificationErrors, Counts) {
    const auto q_len = [](const std::string& value) {
        return message_of(R"({"text": "True", "kv_len": 2, "q_len": )" + value + "}");
    };
    const std::string range = " and must be an integer from 0 to 2147483647";
    EXPECT_EQ(q_len("2147483647"), "parses");
    EXPECT_EQ(q_len("0"), "parses");
    EXPECT_EQ(q_len("-1"), "mask 1: member \"q_len\" is -1" + range);
    EXPECT_EQ(q_len("2147483648"), "mask 1: member \"q_len\" is 2147483648" + range);
    EXPECT_EQ(q_len("1e99"), "mask 1: member \"q_len\" is 1e+99" + range);
    EXPECT_EQ(q_len("18446744073709551615"), "mask 1: member \"q_len\" is 18446744073709551615" + range);
    EXPECT_EQ(q_len("2.0"), "mask 1: member \"q_len\" is 2.0" + range);
    EXPECT_EQ(q_len("true"), "mask 1: member \"q_len\" is true" + range);
    EXPECT_EQ(q_len("null"), "mask 1: member \"q_len\" is null" + range);
    EXPECT_EQ(q_len("\"3\""), "mask 1: member \"q_len\" is \"3\"" + range);
    EXPECT_EQ(message_of(mask_with(R"("B": 0)")),
              "mask \"m\": member \"B\" is 0 and must be an integer from 1 to 2147483647");
    EXPECT_EQ(message_of(mask_with(R"("H": -1)")),
              "mask \"m\": member \"H\" is -1 and must be an integer from 1 to 2147483647");
}

TEST(SpecificationErrors, Scalars) {
    const auto scalar = [](const std::string& value) {
        return message_of(mask_with(R"("scalars": {"w": )" + value + "}"));
    };
    const std::string kind = " and must be an integer of 64 signed bits";
    EXPECT_EQ(scalar("-9223372036854775808"), "parses");
    EXPECT_EQ(scalar("9223372036854775808"), "mask \"m\": scalar \"w\" is 9223372036854775808" + kind);
    EXPECT_EQ(scalar("1.5"), "mask \"m\": scalar \"w\" is 1.5" + kind);
    EXPECT_EQ(scalar("true"), "mask \"m\": scalar \"w\" is true" + kind);
    EXPECT_EQ(message_of(mask_with(R"("scalars": {"q": 1})")),
              "mask \"m\": the scalar 'q' has a name of the language: choose another");
}

TEST(SpecificationErrors, TheValuesOfTables) {
    const std::string table = "mask \"m\": table \"doc\": ";
    const auto integers = [](const std::string& shape, const std::string& values) {
        return message_of(table_with(R"("dtype": "int64", "shape": )" + shape + R"(, "values": )" + values));
    };
    EXPECT_EQ(integers("[2]", "[1, 2]"), "parses");
    EXPECT_EQ(integers("[]", "[1]"), table + "\"shape\" has rank 0 and must have rank 1 to 4");
    EXPECT_EQ(integers("[1, 1, 1, 1, 1]", "[1]"), table + "\"shape\" has rank 5 and must have rank 1 to 4");
    EXPECT_EQ(integers("[2, -3]", "[1]"),
              table + "extent 1 of \"shape\" is -3 and must be an integer from 0 to 2147483647");
    EXPECT_EQ(integers("[2, 3]", "[1, 2, 3, 4, 5]"), table + "shape [2, 3] needs 6 values but has 5");
    EXPECT_EQ(integers("[0]", "[1]"), table + "shape [0] needs 0 values but has 1");
    EXPECT_EQ(integers("[2147483647, 2147483647, 2147483647, 2147483647]", "[]"),
              table + "shape [2147483647, 2147483647, 2147483647, 2147483647] has more than 2^40 values");
    EXPECT_EQ(integers("[2]", "[1, 9223372036854775808]"),
              table + "value 1 is 9223372036854775808 and must be an integer of 64 signed bits");
    EXPECT_EQ(integers("[2]", "[true, 1]"), table + "value 0 is true and must be an integer of 64 signed bits");
    EXPECT_EQ(integers("[2]", "[[1], [2]]"), table + "value 0 is a list and must be an integer of 64 signed bits");
    const auto booleans = [](const std::string& values) {
        return message_of(table_with(R"("dtype": "bool", "shape": [2], "values": )" + values));
    };
    EXPECT_EQ(booleans("[true, 0]"), "parses");
    EXPECT_EQ(booleans("[0, 2]"), table + "value 1 is 2 and must be true, false, 0 or 1");
    EXPECT_EQ(booleans("[1.0, 0]"), table + "value 0 is 1.0 and must be true, false, 0 or 1");
}

TEST(SpecificationErrors, TheText) {
    EXPECT_EQ(
        message_of(R"([{"name": "m", "text": "q >= foo", "q_len": 3, "kv_len": 4}])"),
        "mask \"m\": member \"text\": column 6: unknown name 'foo': the names here are b, h, q, kv, q_len, kv_len");
}

}  // namespace
}  // namespace jali

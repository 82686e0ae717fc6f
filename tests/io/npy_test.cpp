#include "io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "io/read_file.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::io {
namespace {

using test::message_of;
using test::read_text;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

// Files that NumPy wrote (tests/data/make_npy_files.py).
std::filesystem::path written_by_numpy(const std::string& name) {
    return std::filesystem::path(JALI_TEST_DATA) / "npy" / (name + ".npy");
}

// A version 1 file of any dictionary.
std::vector<uint8_t> npy_bytes(const std::string& dictionary, const std::string& elements) {
    const std::string header{static_cast<char>(dictionary.size()), '\0'};
    const std::string text = "\x93NUMPY\x01" + std::string(1, '\0') + header + dictionary + elements;
    return {text.begin(), text.end()};
}

std::string dictionary(const std::string& descr, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string refusal(const std::vector<uint8_t>& bytes) {
    return message_of<FileError>([&] { decode_npy(bytes, "t.npy"); });
}

TEST(ReadNpy, EveryIntegerTypeInBothByteOrders) {
    for (const char* name :
         {"little_i1", "little_i2", "little_i4", "little_i8", "big_i1", "big_i2", "big_i4", "big_i8"}) {
        const NpyArray array = read_npy(written_by_numpy(name));
        EXPECT_FALSE(array.is_boolean) << name;
        EXPECT_THAT(array.shape, ElementsAre(2, 3)) << name;
        EXPECT_THAT(array.integers, ElementsAre(1, -2, 3, 4, 5, -6)) << name;
        EXPECT_THAT(array.booleans, IsEmpty()) << name;
    }
}

TEST(ReadNpy, UnsignedTypesInFortranOrder) {
    for (const char* name : {"fortran_u1", "fortran_u2", "fortran_u4", "fortran_u8"}) {
        const NpyArray array = read_npy(written_by_numpy(name));
        EXPECT_THAT(array.shape, ElementsAre(2, 3)) << name;
        EXPECT_THAT(array.integers, ElementsAre(1, 2, 3, 4, 5, 6)) << name;
    }
}

TEST(ReadNpy, ThreeDimensionsInFortranOrder) {
    const NpyArray array = read_npy(written_by_numpy("fortran_big_i4"));
    std::vector<int64_t> expected(24);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_THAT(array.shape, ElementsAre(2, 3, 4));
    EXPECT_EQ(array.integers, expected);
}

TEST(ReadNpy, Booleans) {
    for (const char* name : {"boolean", "fortran_boolean"}) {
        const NpyArray array = read_npy(written_by_numpy(name));
        EXPECT_TRUE(array.is_boolean) << name;
        EXPECT_THAT(array.shape, ElementsAre(2, 3)) << name;
        EXPECT_THAT(array.booleans, ElementsAre(1, 0, 1, 0, 0, 1)) << name;
        EXPECT_THAT(array.integers, IsEmpty()) << name;
    }
}

TEST(ReadNpy, BooleansOtherThanOneAreTrue) {
    EXPECT_THAT(decode_npy(npy_bytes(dictionary("'|b1'", "(3,)"), std::string("\x02\x00\xff", 3)), "t.npy").booleans,
                ElementsAre(1, 0, 1));
}

TEST(ReadNpy, LaterVersionsScalarsAndEmptyArrays) {
    const NpyArray scalar = read_npy(written_by_numpy("scalar_version_2"));
    EXPECT_THAT(scalar.shape, IsEmpty());
    EXPECT_THAT(scalar.integers, ElementsAre(7));
    const NpyArray one = read_npy(written_by_numpy("one_version_3"));
    EXPECT_THAT(one.shape, ElementsAre(1));
    EXPECT_THAT(one.integers, ElementsAre(-9));
    const NpyArray empty = read_npy(written_by_numpy("empty"));
    EXPECT_THAT(empty.shape, ElementsAre(0, 5));
    EXPECT_THAT(empty.integers, IsEmpty());
}

TEST(ReadNpy, DictionariesOfOldWriters) {
    const std::string text = "{\"shape\": (2L,), \"fortran_order\": False, \"descr\": \"|u1\"}";
    EXPECT_THAT(decode_npy(npy_bytes(text, "\x01\xff"), "t.npy").integers, ElementsAre(1, 255));
}

TEST(ReadNpy, AnEmptyArrayMayHaveAnyOtherExtent) {
    const std::string shape = "(9223372036854775807, 9223372036854775807, 0)";
    EXPECT_THAT(decode_npy(npy_bytes(dictionary("'<i8'", shape), ""), "t.npy").integers, IsEmpty());
}

TEST(ReadNpy, RefusesOtherElementTypes) {
    const std::string floats = written_by_numpy("floats").string(), records = written_by_numpy("records").string();
    EXPECT_EQ(message_of<FileError>([&] { read_npy(floats); }),
              "'" + floats + "' holds elements of type '<f4', expected integers or booleans");
    EXPECT_EQ(message_of<FileError>([&] { read_npy(records); }),
              "'" + records + "' holds records, expected integers or booleans");
    for (const char* descr : {"<i3", "<i0", "<i16", "|i8", "=i4", "<b2", "<c8", "|O", "|S1", "", "<M8[ns]"}) {
        EXPECT_EQ(refusal(npy_bytes(dictionary("'" + std::string(descr) + "'", "(1,)"), "12345678")),
                  "'t.npy' holds elements of type '" + std::string(descr) + "', expected integers or booleans");
    }
}

TEST(ReadNpy, RefusesValuesPast63Bits) {
    const std::string name = written_by_numpy("too_large").string();
    EXPECT_EQ(message_of<FileError>([&] { read_npy(name); }),
              "'" + name + "' holds 9223372036854775808 at element 1 of 2, expected at most 9223372036854775807");
}

TEST(ReadNpy, RefusesEveryTruncationAndAnyByteMore) {
    const std::vector<uint8_t> whole = read_file(written_by_numpy("little_i4"));
    for (size_t length = 0; length < whole.size(); ++length) {
        EXPECT_THROW(decode_npy(std::span(whole).first(length), "t.npy"), FileError) << length;
    }
    std::vector<uint8_t> longer = whole;
    longer.push_back(0);
    EXPECT_EQ(refusal(longer),
              "'t.npy' is too long: it has 25 bytes of elements, and its shape (2, 3) of <i4 needs 24");
    EXPECT_EQ(refusal({whole.begin(), whole.end() - 1}),
              "'t.npy' is truncated: it has 23 bytes of elements, and its shape (2, 3) of <i4 needs 24");
    EXPECT_EQ(refusal({whole.begin(), whole.begin() + 100}),
              "'t.npy' is truncated: its header ends at byte 128 and it has 100");
    EXPECT_EQ(refusal({whole.begin(), whole.begin() + 9}),
              "'t.npy' is truncated: it has 9 bytes, expected at least 10");
    EXPECT_EQ(refusal({whole.begin(), whole.begin() + 3}),
              "'t.npy' is not a .npy file: it does not begin with \\x93NUMPY");
}

TEST(ReadNpy, RefusesOtherFilesAndVersions) {
    EXPECT_EQ(refusal({'P', 'K', 3, 4, 0, 0, 0, 0, 0, 0}),
              "'t.npy' is not a .npy file: it does not begin with \\x93NUMPY");
    std::vector<uint8_t> bytes = npy_bytes(dictionary("'|u1'", "(1,)"), "x");
    bytes[6] = 4;
    EXPECT_EQ(refusal(bytes), "'t.npy' has version 4.0 of the .npy format, expected 1 to 3");
    bytes[6] = 0;
    EXPECT_EQ(refusal(bytes), "'t.npy' has version 0.0 of the .npy format, expected 1 to 3");
}

TEST(ReadNpy, RefusesShapesThatNoFileCanHold) {
    EXPECT_EQ(refusal(npy_bytes(dictionary("'<i8'", "(4611686018427387904, 4)"), "")),
              "'t.npy' says that its shape is (4611686018427387904, 4), which is more than 2^63 - 1 bytes");
    EXPECT_EQ(refusal(npy_bytes(dictionary("'<i8'", "(1152921504606846976,)"), "")),
              "'t.npy' says that its shape is (1152921504606846976), which is more than 2^63 - 1 bytes");
}

TEST(ReadNpy, RefusesMalformedDictionaries) {
    const auto refused = [](const std::string& text) { return refusal(npy_bytes(text, "x")); };
    const std::string start = "'t.npy' has a malformed .npy header: expected ";
    EXPECT_EQ(refused("[1]"), start + "'{' at byte 0 of its dictionary");
    EXPECT_EQ(refused("{'descr'}"), start + "':' at byte 8 of its dictionary");
    EXPECT_EQ(refused("{'descr': '|u1"), start + "the end of a string at byte 10 of its dictionary");
    EXPECT_EQ(refused("{'fortran_order': 1}"), start + "True or False at byte 18 of its dictionary");
    EXPECT_EQ(refused("{'shape': (-1,)}"), start + "an extent at byte 11 of its dictionary");
    EXPECT_EQ(refused("{'shape': (9223372036854775808,)}"),
              start + "an extent below 2^63 at byte 29 of its dictionary");
    EXPECT_EQ(refused("{'shape': (1 2)}"), start + "',' at byte 13 of its dictionary");
    EXPECT_EQ(refused(dictionary("'|u1'", "(1,)") + "x"), start + "the end at byte 58 of its dictionary");
    const std::string once = start + "descr, fortran_order and shape once each at byte ";
    EXPECT_EQ(refused("{}"), once + "2 of its dictionary");
    EXPECT_EQ(refused("{'shape': (1,), 'shape': (1,)}"), once + "24 of its dictionary");
    EXPECT_EQ(refused("{'other': 1}"), once + "9 of its dictionary");
}

TEST(WriteNpy, BooleansRowByRow) {
    const TemporaryFolder folder;
    const std::vector<int64_t> shape{2, 1, 2, 3};
    const std::vector<std::vector<uint8_t>> rows{{1, 0, 1}, {0, 0, 0}, {1, 1, 1}, {0, 1, 0}};
    NpyBooleanWriter writer(folder / "bits.npy", shape);
    for (const auto& row : rows) writer.write_row(row);
    writer.commit();
    // What NumPy reads: its magic, version 1.0, a dictionary that ends a multiple of 64 bytes with a line end.
    const std::string text = read_text(folder / "bits.npy");
    const std::string stated = "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 1, 2, 3), }";
    ASSERT_EQ(text.size(), 128U + 12U);
    EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
    EXPECT_EQ(text.substr(10, stated.size()), stated);
    EXPECT_EQ(text[127], '\n');
    EXPECT_EQ(text.substr(128), std::string("\1\0\1\0\0\0\1\1\1\0\1\0", 12));
    const NpyArray array = read_npy(folder / "bits.npy");
    EXPECT_TRUE(array.is_boolean);
    EXPECT_EQ(array.shape, shape);
    EXPECT_THAT(array.booleans, ElementsAre(1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0));
}

TEST(WriteNpy, ShapesOfEveryRank) {
    const TemporaryFolder folder;
    const std::vector<std::vector<int64_t>> shapes{{}, {1}, {0}, {2, 0}, {0, 3}, {1, 1, 1, 1, 1}};
    for (const std::vector<int64_t>& shape : shapes) {
        NpyBooleanWriter writer(folder / "bits.npy", shape);
        const bool has_elements = std::find(shape.begin(), shape.end(), 0) == shape.end();
        if (has_elements) writer.write_row(std::vector<uint8_t>{1});
        writer.commit();
        const NpyArray array = read_npy(folder / "bits.npy");
        EXPECT_EQ(array.shape, shape);
        EXPECT_EQ(array.booleans.size(), has_elements ? 1U : 0U);
    }
}

TEST(WriteNpy, RefusesRowsThatDoNotFitTheShape) {
    const TemporaryFolder folder;
    const std::string name = (folder / "bits.npy").string();
    NpyBooleanWriter writer(name, std::vector<int64_t>{2, 3});
    EXPECT_EQ(message_of<Error>([&] { writer.write_row(std::vector<uint8_t>(2)); }),
              "a row of '" + name + "' has 2 elements, expected 3");
    writer.write_row(std::vector<uint8_t>(3));
    EXPECT_EQ(message_of<Error>([&] { writer.commit(); }), "'" + name + "' misses 1 rows of its shape");
    writer.write_row(std::vector<uint8_t>(3));
    EXPECT_EQ(message_of<Error>([&] { writer.write_row(std::vector<uint8_t>(3)); }),
              "'" + name + "' has all of its rows already");
}

}  // namespace
}  // namespace jali::io

#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::io {
namespace {

using test::message_of;
using test::read_text;
using test::TemporaryFolder;
using test::write_text;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// A file of any header.
std::vector<uint8_t> file_bytes(const std::string& header, const std::string& data, uint64_t length_too_large = 0) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>((header.size() + length_too_large) >> (8 * i)));
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), data.begin(), data.end());
    return bytes;
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}

std::string refusal(const std::string& header, const std::string& data) {
    return message_of<FileError>([&] { decode_safetensors(file_bytes(header, data), "t.safetensors"); });
}

std::string text_of(std::span<const uint8_t> bytes) {
    return {bytes.begin(), bytes.end()};
}

TEST(ReadSafetensors, NamesTypesShapesAndBytes) {
    const std::string header = R"({"__metadata__":{"made by":"hand"},"k":)" + tensor("BF16", "1, 2", "8,12") +
                               R"(,"q":)" + tensor("F32", "2", "0,8") + R"(,"s":)" + tensor("I64", "", "12,20") +
                               "}   ";
    const std::vector<uint8_t> bytes = file_bytes(header, "qqqqQQQQkkKKssssSSSS");
    const StoredTensors contents = decode_safetensors(bytes, "t.safetensors");
    ASSERT_EQ(contents.tensors.size(), 3U);
    EXPECT_EQ(contents.tensors[0].name, "q");
    EXPECT_EQ(contents.tensors[0].type, StoredType::kFloat32);
    EXPECT_THAT(contents.tensors[0].shape, ElementsAre(2));
    EXPECT_EQ(text_of(contents.tensors[0].data), "qqqqQQQQ");
    EXPECT_EQ(contents.tensors[1].name, "k");
    EXPECT_EQ(contents.tensors[1].type, StoredType::kBFloat16);
    EXPECT_THAT(contents.tensors[1].shape, ElementsAre(1, 2));
    EXPECT_EQ(text_of(contents.tensors[1].data), "kkKK");
    EXPECT_EQ(contents.tensors[2].type, StoredType::kInt64);
    EXPECT_THAT(contents.tensors[2].shape, IsEmpty());
    EXPECT_EQ(text_of(contents.tensors[2].data), "ssssSSSS");
    EXPECT_THAT(contents.metadata, ElementsAre(std::pair<const std::string, std::string>("made by", "hand")));
}

TEST(ReadSafetensors, EveryTypeOfTheFormat) {
    const std::vector<std::pair<std::string, int64_t>> types{
        {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
        {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};
    for (const auto& [name, bytes] : types) {
        const std::string end = std::to_string(3 * bytes);
        const std::vector<uint8_t> file = file_bytes(R"({"x":)" + tensor(name, "3", "0," + end) + "}",
                                                     std::string(static_cast<size_t>(3 * bytes), 'x'));
        const StoredTensors contents = decode_safetensors(file, "t.safetensors");
        EXPECT_EQ(name_of(contents.tensors.at(0).type), name);
        EXPECT_EQ(bytes_of(contents.tensors.at(0).type), bytes);
    }
}

TEST(ReadSafetensors, EmptyTensorsTakeNoPlace) {
    const std::string header = R"({"x":)" + tensor("U8", "2", "0,2") + R"(,"z":)" + tensor("F64", "0, 7", "2,2") +
                               R"(,"y":)" + tensor("U8", "1", "2,3") + R"(,"huge":)" +
                               tensor("F64", "9223372036854775807, 9223372036854775807, 0", "3,3") + "}";
    const std::vector<uint8_t> bytes = file_bytes(header, "xxy");
    // By name `y` comes before `z`, by place `z` before `y`.
    EXPECT_EQ(decode_safetensors(bytes, "t.safetensors").tensors.size(), 4U);
    EXPECT_THAT(decode_safetensors(file_bytes("{}", ""), "t.safetensors").tensors, IsEmpty());
}

TEST(ReadSafetensors, RefusesEveryTruncation) {
    const std::vector<uint8_t> whole =
        file_bytes(R"({"x":)" + tensor("F32", "2", "0,8") + R"(,"y":)" + tensor("U8", "1", "8,9") + "}", "xxxxxxxxy");
    EXPECT_NO_THROW(decode_safetensors(whole, "t.safetensors"));
    for (size_t length = 0; length < whole.size(); ++length) {
        EXPECT_THROW(decode_safetensors(std::span(whole).first(length), "t.safetensors"), FileError) << length;
    }
}

TEST(ReadSafetensors, RefusesHeadersThatDoNotFitTheFile) {
    const auto message = [](const std::vector<uint8_t>& bytes) {
        return message_of<FileError>([&] { decode_safetensors(bytes, "t.safetensors"); });
    };
    EXPECT_EQ(message({1, 2, 3}), "'t.safetensors' is truncated: it has 3 bytes, expected at least 8");
    EXPECT_EQ(message(file_bytes("{}", "", 1)),
              "'t.safetensors' is truncated: its header ends at byte 11 and it has 10");
    EXPECT_EQ(message(file_bytes("{}", "", 100'000'000)),
              "'t.safetensors' is not a safetensors file: its header would have 100000002 bytes, expected at most "
              "100000000");
    EXPECT_EQ(
        message(std::vector<uint8_t>(16, 0xff)),
        "'t.safetensors' is not a safetensors file: its header would have 18446744073709551615 bytes, expected at "
        "most 100000000");
}

TEST(ReadSafetensors, RefusesHeadersThatAreNoObjects) {
    EXPECT_EQ(refusal("[]", ""), "'t.safetensors' is not a safetensors file: its header does not begin with '{'");
    EXPECT_EQ(refusal(" {}", ""), "'t.safetensors' is not a safetensors file: its header does not begin with '{'");
    EXPECT_EQ(refusal("{]", ""), "'t.safetensors' has a header that is not JSON: wrong at byte 2");
    EXPECT_EQ(refusal("{} {}", ""), "'t.safetensors' has a header that is not JSON: wrong at byte 4");
    EXPECT_EQ(refusal("{\"\xff\":1}", ""), "'t.safetensors' has a header that is not JSON: wrong at byte 3");
    EXPECT_EQ(refusal(R"({"x":1e999})", ""), "'t.safetensors' has a number in its header that is too large");
    EXPECT_EQ(refusal(R"({"x":[[[[[1]]]]]})", ""), "'t.safetensors' has a header nested deeper than the format");
    EXPECT_EQ(refusal(R"({"x":1})", ""), "'t.safetensors' describes 'x' by no object");
}

TEST(ReadSafetensors, RefusesNamesThatRepeat) {
    const std::string x = R"("x":)" + tensor("U8", "1", "0,1");
    EXPECT_EQ(refusal("{" + x + "," + x + "}", "x"), "'t.safetensors' names 'x' twice in its header");
    EXPECT_EQ(refusal(R"({"x":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"),
              "'t.safetensors' names 'dtype' twice in its header");
    const std::string both = "{" + x + R"(,"y":)" + tensor("U8", "1", "1,2") + "}";  // each its own members
    EXPECT_NO_THROW(decode_safetensors(file_bytes(both, "xy"), "t.safetensors"));
}

TEST(ReadSafetensors, RefusesMembersThatAreMissingOrOfTheWrongKind) {
    EXPECT_EQ(refusal(R"({"x":{"shape":[1],"data_offsets":[0,1]}})", "x"), "'t.safetensors' gives 'x' no dtype");
    EXPECT_EQ(refusal(R"({"x":{"dtype":"U8","data_offsets":[0,1]}})", "x"),
              "'t.safetensors' gives 'x' no list 'shape'");
    EXPECT_EQ(refusal(R"({"x":{"dtype":"U8","shape":[1]}})", "x"), "'t.safetensors' gives 'x' no list 'data_offsets'");
    EXPECT_EQ(refusal(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":0}})", "x"),
              "'t.safetensors' gives 'x' the member 'more', expected dtype, shape and data_offsets");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("F12", "1", "0,1") + "}", "x"),
              "'t.safetensors' gives 'x' the dtype 'F12', expected one of the format's (F32, BF16, ...)");
    for (const std::string extent : {"-1", "1.0", "\"1\"", "null", "9223372036854775808"}) {
        EXPECT_EQ(
            refusal(R"({"x":)" + tensor("U8", extent, "0,1") + "}", "x"),
            "'t.safetensors' has " + extent + " in 'shape' of 'x', expected an integer from 0 to 9223372036854775807");
    }
    EXPECT_EQ(refusal(R"({"__metadata__":1})", ""), "'t.safetensors' has a __metadata__ that is not an object");
    EXPECT_EQ(refusal(R"({"__metadata__":{"a":1}})", ""),
              "'t.safetensors' has a __metadata__ whose 'a' is not a string");
}

TEST(ReadSafetensors, RefusesBytesThatDoNotFitTheShape) {
    EXPECT_EQ(refusal(R"({"x":)" + tensor("F32", "2, 3", "0,8") + "}", "xxxxxxxx"),
              "'t.safetensors' stores 'x' in 8 bytes, but F32 (2, 3) needs 24");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("F32", "4611686018427387904, 4", "0,0") + "}", ""),
              "'t.safetensors' stores 'x' in 0 bytes, but F32 (4611686018427387904, 4) needs more than 2^63 - 1");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("F32", "2", "0,8,9") + "}", "xxxxxxxx"),
              "'t.safetensors' gives 'x' 3 data_offsets, expected 2");
}

TEST(ReadSafetensors, RefusesOffsetsOutsideTheFileOrNotAdjacent) {
    EXPECT_EQ(refusal(R"({"x":)" + tensor("U8", "4", "0,4") + "}", "xxx"),
              "'t.safetensors' puts 'x' at bytes 0 to 4 of its 3 bytes of data");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("U8", "0", "3,2") + "}", "xxx"),
              "'t.safetensors' puts 'x' at bytes 3 to 2 of its 3 bytes of data");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("U8", "2", "1,3") + "}", "xxx"),
              "'t.safetensors' begins the data of 'x' at byte 1, expected 0: tensors must be adjacent");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("U8", "2", "0,2") + R"(,"y":)" + tensor("U8", "2", "1,3") + "}", "xxx"),
              "'t.safetensors' begins the data of 'y' at byte 1, expected 2: tensors must be adjacent");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("U8", "2", "0,2") + "}", "xxx"),
              "'t.safetensors' has 3 bytes of data, expected the 2 of its tensors");
    EXPECT_EQ(refusal(R"({"x":)" + tensor("U8", "1", "0,1") + R"(,"y":)" + tensor("U8", "0", "2,2") + "}", "x"),
              "'t.safetensors' puts 'y' at bytes 2 to 2 of its 1 bytes of data");
}

TEST(WriteSafetensors, RoundTripWidestTypesFirstAndAligned) {
    const TemporaryFolder folder;
    std::vector<uint8_t> halves(6), wide(16), truth(3);
    std::iota(halves.begin(), halves.end(), uint8_t{1});
    std::iota(wide.begin(), wide.end(), uint8_t{100});
    const std::vector<StoredTensor> tensors{{"out", StoredType::kBFloat16, {1, 3}, halves},
                                            {"kept", StoredType::kBool, {3}, truth},
                                            {"lse", StoredType::kFloat64, {2}, wide},
                                            {"none", StoredType::kFloat32, {0, 4}, {}}};
    write_safetensors(folder / "t.safetensors", tensors, {{"engine", "cpu \"x\""}});
    const SafetensorsFile file(folder / "t.safetensors");
    ASSERT_EQ(file.tensors().size(), 4U);
    EXPECT_EQ(file.tensors()[0].name, "lse");
    for (const StoredTensor& expected : tensors) {
        const StoredTensor* read = file.find(expected.name);
        ASSERT_NE(read, nullptr) << expected.name;
        EXPECT_EQ(read->type, expected.type);
        EXPECT_EQ(read->shape, expected.shape);
        EXPECT_EQ(text_of(read->data), text_of(expected.data));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(read->data.data()) % static_cast<uintptr_t>(bytes_of(read->type)), 0U);
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file.tensors()[0].data.data()) % 64, 0U);
    EXPECT_EQ(file.metadata().at("engine"), "cpu \"x\"");
    EXPECT_EQ(file.find("q"), nullptr);
    EXPECT_THAT(folder.names(), ElementsAre("t.safetensors"));
}

TEST(WriteSafetensors, TheBytesOfTheFormat) {
    const TemporaryFolder folder;
    const std::vector<uint8_t> data{1, 2};
    write_safetensors(folder / "t", std::vector<StoredTensor>{{"x", StoredType::kFloat16, {1}, data}});
    std::string header = R"({"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})";
    header.resize(56, ' ');
    EXPECT_EQ(read_text(folder / "t"), std::string("\x38\0\0\0\0\0\0\0", 8) + header + "\x01\x02");
}

TEST(WriteSafetensors, RefusesTensorsThatContradictThemselves) {
    const TemporaryFolder folder;
    const std::vector<uint8_t> data(4);
    const StoredTensor x{"x", StoredType::kFloat32, {1}, data};
    EXPECT_EQ(message_of<Error>([&] {
                  write_safetensors("t", std::vector<StoredTensor>{x, x});
              }),
              "'t' cannot hold two tensors named 'x'");
    EXPECT_EQ(message_of<Error>([&] {
                  write_safetensors("t", std::vector<StoredTensor>{{"x", StoredType::kFloat32, {2}, data}});
              }),
              "tensor 'x' has 4 bytes, but F32 (2) needs 8");
}

TEST(ReadSafetensors, NamesTheFileThatIsMissing) {
    EXPECT_EQ(message_of<FileError>([] { SafetensorsFile file("missing.safetensors"); }),
              "cannot read 'missing.safetensors': No such file or directory");
}

}  // namespace
}  // namespace jali::io

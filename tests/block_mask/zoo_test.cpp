// Every mask of masks.json, whose answers were found independently: in the text, JSON and C++ forms, on every grid, by
// row and by column.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "block_mask/zoo_in_cpp.h"
#include "jali/block_mask.h"
#include "jali/predicate_text.h"

namespace jali {
namespace {

const std::string& masks_text() {
    static const std::string text = [] {
        std::ifstream file(std::string(JALI_TEST_DATA) + "/masks.json");
        std::stringstream all;
        all << file.rdbuf();
        return all.str();
    }();
    return text;
}

const nlohmann::json& entries() {
    static const nlohmann::json parsed = nlohmann::json::parse(masks_text());
    return parsed;
}

std::string sha256(const std::vector<uint8_t>& bytes) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr);
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        text += {kDigits[digest[i] / 16], kDigits[digest[i] % 16]};
    }
    return text;
}

Domain domain_of(const nlohmann::json& entry) {
    return {.batch = entry["B"], .heads = entry["H"], .q_len = entry["q_len"], .kv_len = entry["kv_len"]};
}

test::ZooValues values_of(const nlohmann::json& entry) {
    test::ZooValues values;
    for (const auto& [name, value] : entry["scalars"].items()) values.scalars[name] = value;
    for (const auto& [name, table] : entry["tables"].items()) {
        const std::vector<int64_t> shape = table["shape"];
        values.tables.emplace(name, table["dtype"] == "bool"
                                        ? Table::booleans(name, table["values"].get<std::vector<uint8_t>>(), shape)
                                        : Table::integers(name, table["values"].get<std::vector<int64_t>>(), shape));
    }
    return values;
}

std::vector<uint8_t> bits_by_row(const BlockMask& mask, const Domain& domain) {
    std::vector<uint8_t> bits, row(static_cast<size_t>(domain.kv_len));
    for (int64_t head = 0; head < domain.batch * domain.heads; ++head) {
        for (int64_t q = 0; q < domain.q_len; ++q) {
            dense_row(mask, head / domain.heads, head % domain.heads, q, row);
            bits.insert(bits.end(), row.begin(), row.end());
        }
    }
    return bits;
}

std::vector<uint8_t> bits_by_column(const BlockMask& mask, const Domain& domain) {
    const auto q_len = static_cast<size_t>(domain.q_len), kv_len = static_cast<size_t>(domain.kv_len);
    std::vector<uint8_t> bits(static_cast<size_t>(domain.batch * domain.heads) * q_len * kv_len), column(q_len);
    for (int64_t head = 0; head < domain.batch * domain.heads; ++head) {
        for (size_t kv = 0; kv < kv_len; ++kv) {
            dense_column(mask, head / domain.heads, head % domain.heads, static_cast<int64_t>(kv), column);
            for (size_t q = 0; q < q_len; ++q) {
                bits[(static_cast<size_t>(head) * q_len + q) * kv_len + kv] = column[q];
            }
        }
    }
    return bits;
}

class Zoo : public testing::TestWithParam<size_t> {
   protected:
    const nlohmann::json& entry() const { return entries()[GetParam()]; }
    const nlohmann::json& answer() const { return entry()["answer"]; }

    void expect_answers(const Predicate& keep) const {
        const Domain domain = domain_of(entry());
        for (const GridChoice grid : {GridChoice::kAutomatic, GridChoice::kAligned, GridChoice::kAnchored}) {
            const BlockMask mask = build_block_mask(keep, {.domain = domain, .grid = grid});
            EXPECT_EQ(sha256(bits_by_row(mask, domain)), answer()["sha256"]);
            EXPECT_EQ(sha256(bits_by_column(mask, domain)), answer()["sha256"]);
            const MaskStatistics counts = statistics(mask, domain.batch, domain.heads);
            EXPECT_EQ(counts.useful_pairs, answer()["pairs"]);
            EXPECT_EQ(counts.empty_rows, answer()["empty_rows"]);
            EXPECT_EQ(counts.empty_columns, answer()["empty_columns"]);
            EXPECT_EQ(counts.aligned_tiles.full, answer()["tiles"]["full"]);
            EXPECT_EQ(counts.aligned_tiles.partial, answer()["tiles"]["partial"]);
            EXPECT_EQ(counts.aligned_tiles.empty, answer()["tiles"]["empty"]);
        }
    }
};

TEST_P(Zoo, TextFormGivesTheAnswers) {
    const test::ZooValues values = values_of(entry());
    expect_answers(
        parse_predicate(entry()["text"].get<std::string>(), {.scalars = values.scalars, .tables = values.tables})
            .predicate);
}

TEST_P(Zoo, JsonFormGivesTheAnswers) {
    const std::vector<MaskSpecification> read = parse_specifications(entry().dump());
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].name, entry()["name"]);
    EXPECT_EQ(read[0].domain.q_len, entry()["q_len"]);
    expect_answers(read[0].predicate);
}

TEST_P(Zoo, CppFormGivesTheAnswers) {
    const std::string name = entry()["name"];
    ASSERT_TRUE(test::zoo_in_cpp().contains(name)) << "no C++ form of " << name;
    expect_answers(test::zoo_in_cpp().at(name)(values_of(entry())));
}

TEST_P(Zoo, PairByPairEvaluationGivesTheAnswers) {
    const Predicate keep = parse_specifications(entry().dump())[0].predicate;
    const Domain domain = domain_of(entry());
    std::vector<uint8_t> bits;
    for (int64_t head = 0; head < domain.batch * domain.heads; ++head) {
        for (int64_t q = 0; q < domain.q_len; ++q) {
            for (int64_t kv = 0; kv < domain.kv_len; ++kv) {
                bits.push_back(evaluate(keep, domain, head / domain.heads, head % domain.heads, q, kv) ? 1 : 0);
            }
        }
    }
    EXPECT_EQ(sha256(bits), answer()["sha256"]);
}

INSTANTIATE_TEST_SUITE_P(Masks, Zoo, testing::Range(size_t{0}, entries().size()),
                         [](const auto& index) { return entries()[index.param]["name"].template get<std::string>(); });

}  // namespace
}  // namespace jali

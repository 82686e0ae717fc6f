// Three packed documents, causal: builds the block mask, runs attention forward, and holds the result to the reference.
#include <jali/jali.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

using jali::contiguous;
using jali::DType;

int main() {
    using namespace jali::indices;
    const std::vector<int64_t> lengths = {100, 37, 163};
    const int64_t tokens = 300, heads = 2, head_dim = 64;

    const jali::Table doc = jali::Table::documents("doc", lengths);
    const jali::Predicate keep = doc[q] == doc[kv] && q >= kv;
    const jali::BlockMask mask = jali::build_block_mask(keep, {.domain = {1, 1, tokens, tokens}});

    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const std::size_t elements = static_cast<std::size_t>(heads * tokens * head_dim);
    std::vector<float> query(elements), key(elements), value(elements), out(elements), lse(heads * tokens);
    for (auto* tensor : {&query, &key, &value}) {
        for (float& x : *tensor) x = normal(random);
    }
    const auto view = [&](std::vector<float>& tensor) {
        return contiguous(tensor.data(), DType::kFloat32, {1, heads, tokens, head_dim});
    };
    jali::attention_forward({.q = view(query),
                             .k = view(key),
                             .v = view(value),
                             .out = view(out),
                             .lse = contiguous(lse.data(), DType::kFloat32, {1, heads, tokens, 1})},
                            mask);

    const jali::Domain domain{1, heads, tokens, tokens};
    const jali::reference::Inputs inputs{.shape = {1, heads, heads, tokens, tokens, head_dim, head_dim},
                                         .scale = 1 / std::sqrt(static_cast<double>(head_dim)),
                                         .q = {query.begin(), query.end()},
                                         .k = {key.begin(), key.end()},
                                         .v = {value.begin(), value.end()}};
    const auto kept = [&](int64_t batch, int64_t head, int64_t row, int64_t column) {
        return jali::evaluate(keep, domain, batch, head, row, column);
    };
    const jali::reference::Outputs expected = jali::reference::forward(inputs, kept);
    double largest = 0;
    for (std::size_t i = 0; i < elements; ++i) largest = std::fmax(largest, std::fabs(out[i] - expected.out[i]));

    const jali::MaskStatistics counted = jali::statistics(mask);
    std::printf("%lld useful pairs in %lld bytes of block mask; largest difference from float64 %.1e\n",
                static_cast<long long>(counted.useful_pairs), static_cast<long long>(counted.bytes), largest);
    // 5050 + 703 + 13366: a document of n tokens keeps n * (n + 1) / 2 pairs.
    return counted.useful_pairs == 19119 && largest < 1e-5 ? 0 : 1;
}

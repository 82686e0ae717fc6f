// A mask in five lines: two packed documents of 5 and 3 tokens, causal within each; then attention under it.
#include <cstdint>
#include <iostream>
#include <vector>

#include "jali/jali.h"

int main() {
    using namespace jali::indices;
    const jali::Table doc = jali::Table::documents("doc", std::vector<int64_t>{5, 3});
    const jali::Predicate keep = doc[q] == doc[kv] && q >= kv;
    const jali::BlockMask mask = jali::build_block_mask(keep, {.domain = {.q_len = 8, .kv_len = 8}});
    std::cout << jali::to_text(keep) << "\n" << jali::terminal_picture(mask);

    // One batch, one head, 8 tokens, dimension 8. Every query equals every key, so that a query's output is the mean of
    // the values it may see: the numbers of the tokens.
    std::vector<float> ones(64, 1.0F), values(64), means(64), sums(8);
    for (size_t i = 0; i < values.size(); ++i) {
        const size_t token = i / 8;
        values[i] = static_cast<float>(token);
    }
    const auto tensor = [](std::vector<float>& data, int64_t columns) {
        return jali::contiguous(data.data(), jali::DType::kFloat32, {1, 1, 8, columns});
    };
    const jali::TensorView query = tensor(ones, 8), key = query, value = tensor(values, 8);
    const jali::TensorView out = tensor(means, 8), lse = tensor(sums, 1);
    jali::attention_forward({query, key, value, out, lse}, mask);
    for (size_t token = 0; token < 8; ++token) std::cout << means[8 * token] << " ";
    std::cout << "\n";
}

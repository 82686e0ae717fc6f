// A mask in five lines: two packed documents of 5 and 3 tokens, causal within each.
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
}

// Block masks from lists of kept blocks and from dense bits: both become a table that a predicate reads, so that there
// is one builder.
#include <fmt/format.h>

#include <algorithm>

#include "jali/block_mask.h"
#include "jali/error.h"

namespace jali {

namespace {

int64_t blocks_over(int64_t length, int64_t rows) {
    return length / rows + (length % rows != 0 ? 1 : 0);
}

void check_block(const KeptBlock& block, const Domain& domain, int64_t q_blocks, int64_t kv_blocks) {
    const auto check = [&](const char* what, int64_t index, int64_t count) {
        if (index < 0 || index >= count) {
            throw Error(fmt::format("a kept block has {} {} and there are {}", what, index, count));
        }
    };
    check("batch", block.b, domain.batch);
    check("head", block.h, domain.heads);
    check("query block", block.q_block, q_blocks);
    check("key block", block.kv_block, kv_blocks);
}

}  // namespace

BlockMask block_mask_from_blocks(const BlockLists& lists, const BuildOptions& options, const Predicate& inside,
                                 BuildStatistics* statistics) {
    using namespace indices;
    const Domain& domain = options.domain;
    if (lists.q_block_rows < 1 || lists.kv_block_rows < 1) {
        throw Error(fmt::format("blocks have {} query rows and {} keys and must have at least 1", lists.q_block_rows,
                                lists.kv_block_rows));
    }
    if (domain.batch < 1 || domain.heads < 1 || domain.q_len < 0 || domain.kv_len < 0) {
        return build_block_mask(inside, options, statistics);  // which refuses the domain
    }
    const int64_t q_blocks = blocks_over(domain.q_len, lists.q_block_rows);
    const int64_t kv_blocks = blocks_over(domain.kv_len, lists.kv_block_rows);
    const double cells = static_cast<double>(domain.batch) * static_cast<double>(domain.heads) *
                         static_cast<double>(q_blocks) * static_cast<double>(kv_blocks);
    if (cells > static_cast<double>(options.byte_limit)) {
        throw LimitError(fmt::format("the grid of {} x {} x {} x {} blocks takes a byte each and the limit is {} bytes",
                                     domain.batch, domain.heads, q_blocks, kv_blocks, options.byte_limit));
    }
    std::vector<uint8_t> kept(static_cast<size_t>(cells), 0);
    for (const KeptBlock& block : lists.blocks) {
        check_block(block, domain, q_blocks, kv_blocks);
        const int64_t head = block.b * domain.heads + block.h;
        kept[static_cast<size_t>((head * q_blocks + block.q_block) * kv_blocks + block.kv_block)] = 1;
    }
    const Table table = Table::booleans("kept_blocks", kept, {domain.batch, domain.heads, q_blocks, kv_blocks});
    const Expression own_b = domain.batch == 1 ? Expression(0) : b, own_h = domain.heads == 1 ? Expression(0) : h;
    const Expression is_kept =
        table(own_b, own_h, floor_div(q, lists.q_block_rows), floor_div(kv, lists.kv_block_rows));
    return build_block_mask(is_kept && inside.expression(), options, statistics);
}

BlockMask block_mask_from_dense(std::span<const uint8_t> kept, const BuildOptions& options,
                                BuildStatistics* statistics) {
    using namespace indices;
    const Domain& domain = options.domain;
    if (domain.batch < 1 || domain.heads < 1 || domain.q_len < 0 || domain.kv_len < 0) {
        return build_block_mask(false, options, statistics);  // which refuses the domain
    }
    const Table table = Table::booleans("kept_pairs", kept, {domain.batch, domain.heads, domain.q_len, domain.kv_len});
    const Expression own_b = domain.batch == 1 ? Expression(0) : b, own_h = domain.heads == 1 ? Expression(0) : h;
    return build_block_mask(table(own_b, own_h, q, kv), options, statistics);
}

}  // namespace jali

// The column form, the ranks, the execution orders and the transposes, all from the row form.
#include <algorithm>
#include <numeric>

#include "block_mask/data.h"
#include "block_mask/transpose.h"

namespace jali {

namespace {

// Appends the tiles by descending visited tile pairs, ties by ascending index.
void append_order(const std::vector<int64_t>& costs, std::vector<int32_t>& order) {
    const auto begin = static_cast<std::ptrdiff_t>(order.size());
    order.resize(order.size() + costs.size());
    std::iota(order.begin() + begin, order.end(), 0);
    std::stable_sort(order.begin() + begin, order.end(), [&](int32_t x, int32_t y) {
        return costs[static_cast<size_t>(x)] > costs[static_cast<size_t>(y)];
    });
}

std::vector<int64_t> visited_tiles(std::span<const int64_t> offsets, std::span<const Run> runs) {
    std::vector<int64_t> visited(offsets.size() - 1, 0);
    for (size_t tile = 0; tile < visited.size(); ++tile) {
        for (auto at = static_cast<size_t>(offsets[tile]); at < static_cast<size_t>(offsets[tile + 1]); ++at) {
            visited[tile] += runs[at].tiles;
        }
    }
    return visited;
}

void append_ranks(std::span<const int64_t> offsets, std::span<const Run> runs, std::vector<int32_t>& ranks) {
    for (size_t tile = 0; tile + 1 < offsets.size(); ++tile) {
        int32_t before = 0;
        for (auto at = static_cast<size_t>(offsets[tile]); at < static_cast<size_t>(offsets[tile + 1]); ++at) {
            ranks.push_back(before);
            before += runs[at].tiles;
        }
    }
}

}  // namespace

void derive(BlockMask::Data& data) {
    data.starts.clear();
    BlockMask::Data::HeadStart start;
    for (const Grid& grid : data.grids) {
        const auto nq = static_cast<int64_t>(grid.q_tiles.size()), nkv = static_cast<int64_t>(grid.kv_tiles.size());
        for (int64_t h = 0; h < data.heads; ++h) {
            data.starts.push_back(start);
            const auto offsets = std::span<const int64_t>(data.row_offsets)
                                     .subspan(static_cast<size_t>(start.row_offsets), static_cast<size_t>(nq + 1));
            transpose_runs({offsets, data.runs, nkv}, data.column_offsets, data.column_runs);
            append_ranks(offsets, data.runs, data.ranks);
            append_order(visited_tiles(offsets, data.runs), data.q_order);
            const auto column_offsets =
                std::span<const int64_t>(data.column_offsets)
                    .subspan(static_cast<size_t>(start.column_offsets), static_cast<size_t>(nkv + 1));
            append_order(visited_tiles(column_offsets, data.column_runs), data.kv_order);
            start.q_tiles += nq;
            start.kv_tiles += nkv;
            start.row_offsets += nq + 1;
            start.column_offsets += nkv + 1;
        }
    }
    data.transposed_stencils.reserve(data.stencils.size());
    for (const Stencil& stencil : data.stencils) data.transposed_stencils.push_back(transposed(stencil));
}

}  // namespace jali

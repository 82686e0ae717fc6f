#include "block_mask/row_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "jali/error.h"

namespace jali {

namespace {

// A run by row, its rank, and as much again for the column form.
constexpr int64_t kBytesARun = 2 * static_cast<int64_t>(sizeof(Run)) + static_cast<int64_t>(sizeof(int32_t));
// A stencil and its transpose.
constexpr int64_t kBytesAStencil = 2 * static_cast<int64_t>(sizeof(Stencil));

}  // namespace

RowRunCollector::RowRunCollector(const Grid& grid, StencilTable& stencils, RunLimit limit)
    : grid_(grid),
      stencils_(stencils),
      byte_limit_(limit.bytes),
      runs_(limit.runs_before),
      rows_(grid.q_tiles.size()),
      next_short_(grid.kv_tiles.size()),
      limit_stencils_(static_cast<size_t>(kTileRows + 1) * (kTileRows + 1), -1) {
    auto next = static_cast<int32_t>(grid.kv_tiles.size());
    for (size_t tile = grid.kv_tiles.size(); tile-- > 0;) {
        if (grid.kv_tiles[tile].rows < kTileRows) next = static_cast<int32_t>(tile);
        next_short_[tile] = next;
    }
}

void RowRunCollector::push(int32_t q_tile, Run run) {
    visited_tiles_ += run.tiles;
    std::vector<Run>& row = rows_[static_cast<size_t>(q_tile)];
    if (!row.empty() && row.back().stencil == run.stencil &&
        row.back().first_tile + row.back().tiles == run.first_tile) {
        row.back().tiles += run.tiles;
        return;
    }
    row.push_back(run);
    ++runs_;
    check_limit();
}

int64_t RowRunCollector::bytes() const {
    return runs_ * kBytesARun + static_cast<int64_t>(stencils_.stencils().size()) * kBytesAStencil;
}

void RowRunCollector::check_limit() const {
    if (bytes() > byte_limit_) {
        throw LimitError(
            fmt::format("the block mask would exceed the limit: {} runs and {} stencils of {} bytes take {} "
                        "bytes, and {} are left for them",
                        runs_, stencils_.stencils().size(), kBytesAStencil, bytes(), byte_limit_));
    }
}

int32_t RowRunCollector::limit_stencil(int32_t rows, int32_t columns) {
    int32_t& known = limit_stencils_[static_cast<size_t>(rows * (kTileRows + 1) + columns)];
    if (known < 0) known = stencils_.add(rectangle(rows, columns));
    return known;
}

void RowRunCollector::add_full_row(int32_t q_tile, int32_t kv_first, int32_t kv_end) {
    const int32_t rows = grid_.q_tiles[static_cast<size_t>(q_tile)].rows;
    const int32_t fate_of_whole = rows == kTileRows ? kFull : limit_stencil(rows, kTileRows);
    for (int32_t tile = kv_first; tile < kv_end;) {
        const int32_t whole_until = std::min(next_short_[static_cast<size_t>(tile)], kv_end);
        if (whole_until > tile) push(q_tile, {tile, whole_until - tile, fate_of_whole});
        tile = whole_until;
        if (tile < kv_end) {
            push(q_tile, {tile, 1, limit_stencil(rows, grid_.kv_tiles[static_cast<size_t>(tile)].rows)});
            ++tile;
        }
    }
}

void RowRunCollector::add_full(int32_t q_first, int32_t q_end, int32_t kv_first, int32_t kv_end) {
    for (int32_t q_tile = q_first; q_tile < q_end; ++q_tile) add_full_row(q_tile, kv_first, kv_end);
}

void RowRunCollector::add_tile(int32_t q_tile, int32_t kv_tile, const Stencil& kept) {
    const bool nothing = std::all_of(kept.words.begin(), kept.words.end(), [](uint64_t word) { return word == 0; });
    if (nothing) return;
    const bool everything =
        std::all_of(kept.words.begin(), kept.words.end(), [](uint64_t word) { return word == ~uint64_t{0}; });
    push(q_tile, {kv_tile, 1, everything ? kFull : stencils_.add(kept)});
}

void RowRunCollector::append_to(std::vector<int64_t>& offsets, std::vector<Run>& runs) const {
    const auto base = static_cast<int64_t>(runs.size());
    offsets.push_back(0);
    for (const std::vector<Run>& row : rows_) {
        runs.insert(runs.end(), row.begin(), row.end());
        offsets.push_back(static_cast<int64_t>(runs.size()) - base);
    }
}

}  // namespace jali

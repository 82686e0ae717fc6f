// From the row form to a block mask, with every invariant checked.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "block_mask/data.h"
#include "block_mask/stencil_table.h"
#include "jali/error.h"

namespace jali {

namespace {

template <class... Values>
void require(bool holds, fmt::format_string<Values...> message, Values&&... values) {
    if (!holds) throw Error(fmt::format(message, std::forward<Values>(values)...));
}

void check_tiles(const std::vector<Tile>& tiles, int64_t length, const char* side) {
    int64_t next = 0;
    for (size_t i = 0; i < tiles.size(); ++i) {
        require(tiles[i].begin == next, "{} tile {} begins at {} and the one before it ends at {}", side, i,
                tiles[i].begin, next);
        require(tiles[i].rows >= 1 && tiles[i].rows <= kTileRows, "{} tile {} has {} rows and must have 1 to 128", side,
                i, tiles[i].rows);
        next += tiles[i].rows;
    }
    require(next == length, "the {} tiles hold {} rows and the length is {}", side, next, length);
}

void check_sizes(const BlockMask::Parts& parts) {
    constexpr int64_t kLongest = INT32_MAX;
    require(parts.batch >= 1 && parts.heads >= 1 && parts.batch <= kLongest && parts.heads <= kLongest,
            "a block mask has 1 to {} batches and heads, not {} and {}", kLongest, parts.batch, parts.heads);
    require(parts.q_len >= 0 && parts.q_len <= kLongest && parts.kv_len >= 0 && parts.kv_len <= kLongest,
            "lengths are 0 to {}, not {} and {}", kLongest, parts.q_len, parts.kv_len);
    require(static_cast<int64_t>(parts.grids.size()) == parts.batch, "there are {} grids for {} batches",
            parts.grids.size(), parts.batch);
    const int64_t heads = parts.batch * parts.heads;
    require(static_cast<int64_t>(parts.row_offsets.size()) == heads && static_cast<int64_t>(parts.runs.size()) == heads,
            "there are row offsets for {} and runs for {} of {} heads", parts.row_offsets.size(), parts.runs.size(),
            heads);
    for (const Grid& grid : parts.grids) {
        check_tiles(grid.q_tiles, parts.q_len, "query");
        check_tiles(grid.kv_tiles, parts.kv_len, "key");
    }
}

std::vector<Extent> checked_stencils(const std::vector<Stencil>& stencils) {
    StencilTable distinct;
    std::vector<Extent> extents;
    for (size_t i = 0; i < stencils.size(); ++i) {
        const auto first = static_cast<size_t>(distinct.add(stencils[i]));
        require(first == i, "stencil {} repeats stencil {}", i, first);
        extents.push_back(extent_of(stencils[i]));
        require(extents.back().rows > 0, "stencil {} keeps no pair", i);
        require(pairs_in(stencils[i]) < int64_t{kTileRows} * kTileRows, "stencil {} keeps every pair", i);
    }
    return extents;
}

struct HeadParts {
    const Grid& grid;
    const std::vector<int64_t>& offsets;
    const std::vector<Run>& runs;
    const std::vector<Extent>& extents;
    int64_t index;
};

// The rows of the key tiles of a run must hold what its stencil keeps, or be whole where it is full.
void check_run_fits(const HeadParts& head, size_t q_tile, const Run& run) {
    const int32_t q_rows = head.grid.q_tiles[q_tile].rows;
    const bool full = run.stencil == kFull;
    const Extent needed = full ? Extent{kTileRows, kTileRows} : head.extents[static_cast<size_t>(run.stencil)];
    require(needed.rows <= q_rows, "head {}, query tile {}: a run keeps {} rows of a tile of {}", head.index, q_tile,
            needed.rows, q_rows);
    for (int32_t tile = run.first_tile; tile < run.first_tile + run.tiles; ++tile) {
        const int32_t columns = head.grid.kv_tiles[static_cast<size_t>(tile)].rows;
        require(needed.columns <= columns,
                "head {}, query tile {}, key tile {}: a run keeps {} columns of a tile of {}", head.index, q_tile, tile,
                needed.columns, columns);
    }
}

void check_row(const HeadParts& head, size_t q_tile, const std::vector<Run>& runs, size_t begin, size_t end) {
    const auto kv_tiles = static_cast<int64_t>(head.grid.kv_tiles.size());
    const auto stencils = static_cast<int64_t>(head.extents.size());
    int64_t next = 0;
    int32_t fate_before = kFull - 1;
    for (size_t at = begin; at < end; ++at) {
        const Run& run = runs[at];
        require(run.stencil >= kFull && run.stencil < stencils, "head {}, query tile {}: stencil {} of {}", head.index,
                q_tile, run.stencil, stencils);
        require(run.first_tile >= next && run.tiles >= 1 && run.first_tile + int64_t{run.tiles} <= kv_tiles,
                "head {}, query tile {}: a run of {} key tiles from {} on, after {} and among {}", head.index, q_tile,
                run.tiles, run.first_tile, next, kv_tiles);
        require(at == begin || run.first_tile > next || run.stencil != fate_before,
                "head {}, query tile {}: the runs before and from key tile {} should be one", head.index, q_tile, next);
        check_run_fits(head, q_tile, run);
        next = run.first_tile + int64_t{run.tiles};
        fate_before = run.stencil;
    }
}

void check_head(const HeadParts& head) {
    const size_t q_tiles = head.grid.q_tiles.size();
    require(head.offsets.size() == q_tiles + 1, "head {} has {} row offsets for {} query tiles", head.index,
            head.offsets.size(), q_tiles);
    require(head.offsets.front() == 0 && head.offsets.back() == static_cast<int64_t>(head.runs.size()),
            "the row offsets of head {} go from {} to {} over {} runs", head.index, head.offsets.front(),
            head.offsets.back(), head.runs.size());
    for (size_t tile = 0; tile < q_tiles; ++tile) {
        require(head.offsets[tile] <= head.offsets[tile + 1], "the row offsets of head {} fall from {} to {}",
                head.index, head.offsets[tile], head.offsets[tile + 1]);
        require(head.offsets[tile + 1] <= head.offsets.back(), "row offset {} of head {} lies beyond its {} runs",
                head.offsets[tile + 1], head.index, head.runs.size());
        check_row(head, tile, head.runs, static_cast<size_t>(head.offsets[tile]),
                  static_cast<size_t>(head.offsets[tile + 1]));
    }
}

// Numbers the stencils in the order in which the runs first name them, and leaves out those that none names: so that
// masks that keep the same pairs on the same grids are equal, however they were made.
void renumber_stencils(BlockMask::Parts& parts) {
    std::vector<int32_t> number(parts.stencils.size(), -1);
    std::vector<size_t> order;
    for (std::vector<Run>& runs : parts.runs) {
        for (Run& run : runs) {
            if (run.stencil == kFull) continue;
            int32_t& mine = number[static_cast<size_t>(run.stencil)];
            if (mine < 0) {
                mine = static_cast<int32_t>(order.size());
                order.push_back(static_cast<size_t>(run.stencil));
            }
            run.stencil = mine;
        }
    }
    if (order.size() == parts.stencils.size() && std::is_sorted(order.begin(), order.end())) return;
    std::vector<Stencil> ordered;
    ordered.reserve(order.size());
    for (const size_t stencil : order) ordered.push_back(parts.stencils[stencil]);
    parts.stencils = std::move(ordered);
}

}  // namespace

BlockMask BlockMask::assemble(Parts parts) {
    check_sizes(parts);
    const std::vector<Extent> extents = checked_stencils(parts.stencils);
    for (int64_t head = 0; head < parts.batch * parts.heads; ++head) {
        const auto at = static_cast<size_t>(head);
        check_head({parts.grids[static_cast<size_t>(head / parts.heads)], parts.row_offsets[at], parts.runs[at],
                    extents, head});
    }
    return finish(std::move(parts));
}

BlockMask finish(BlockMask::Parts parts) {
    renumber_stencils(parts);
    auto data = std::make_shared<BlockMask::Data>();
    data->batch = parts.batch;
    data->heads = parts.heads;
    data->q_len = parts.q_len;
    data->kv_len = parts.kv_len;
    data->grids = std::move(parts.grids);
    data->stencils = std::move(parts.stencils);
    for (size_t head = 0; head < parts.runs.size(); ++head) {
        const auto base = static_cast<int64_t>(data->runs.size());
        for (const int64_t offset : parts.row_offsets[head]) data->row_offsets.push_back(base + offset);
        data->runs.insert(data->runs.end(), parts.runs[head].begin(), parts.runs[head].end());
    }
    derive(*data);
    return BlockMask(std::move(data));
}

}  // namespace jali

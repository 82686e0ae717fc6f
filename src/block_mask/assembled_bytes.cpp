#include "block_mask/assembled_bytes.h"

#include <algorithm>
#include <span>

#include "block_mask/data.h"

namespace jali {

namespace {

template <class T>
constexpr auto bytes_a = static_cast<int64_t>(sizeof(T));

// Key tiles that both rows give the same fate. Runs are sorted.
int64_t shared_tiles(std::span<const Run> row, std::span<const Run> above) {
    int64_t shared = 0;
    for (size_t i = 0, j = 0; i < row.size() && j < above.size();) {
        const int64_t end = int64_t{row[i].first_tile} + row[i].tiles;
        const int64_t end_above = int64_t{above[j].first_tile} + above[j].tiles;
        if (row[i].stencil == above[j].stencil) {
            const int64_t begin = std::max(row[i].first_tile, above[j].first_tile);
            shared += std::max<int64_t>(0, std::min(end, end_above) - begin);
        }
        end <= end_above ? ++i : ++j;
    }
    return shared;
}

}  // namespace

int64_t assembled_bytes(const BlockMask::Parts& parts) {
    auto bytes = static_cast<int64_t>(parts.stencils.size()) * 2 * bytes_a<Stencil> +
                 static_cast<int64_t>(parts.runs.size() * sizeof(BlockMask::Data::HeadStart));
    for (const Grid& grid : parts.grids) {
        bytes += static_cast<int64_t>(grid.q_tiles.size() + grid.kv_tiles.size()) * bytes_a<Tile>;
    }
    for (size_t i = 0; i < parts.runs.size(); ++i) {
        const Grid& grid = parts.grids[i / static_cast<size_t>(parts.heads)];
        const auto q_tiles = static_cast<int64_t>(grid.q_tiles.size());
        const auto kv_tiles = static_cast<int64_t>(grid.kv_tiles.size());
        const std::vector<int64_t>& offsets = parts.row_offsets[i];
        const auto runs = static_cast<int64_t>(parts.runs[i].size());
        int64_t column_runs = 0;
        std::span<const Run> above;
        for (size_t tile = 0; tile + 1 < offsets.size(); ++tile) {
            const int64_t begin = std::clamp<int64_t>(offsets[tile], 0, runs);
            const int64_t end = std::clamp<int64_t>(offsets[tile + 1], begin, runs);
            const auto row =
                std::span(parts.runs[i]).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
            for (const Run& run : row) column_runs += run.tiles;
            column_runs -= shared_tiles(row, above);
            above = row;
        }
        bytes += (q_tiles + 1 + kv_tiles + 1) * bytes_a<int64_t> + (runs + column_runs) * bytes_a<Run> +
                 runs * bytes_a<int32_t> + (q_tiles + kv_tiles) * bytes_a<int32_t>;
    }
    return bytes;
}

}  // namespace jali

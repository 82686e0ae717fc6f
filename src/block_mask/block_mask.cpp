#include "jali/block_mask.h"

#include <fmt/format.h>

#include "block_mask/data.h"
#include "jali/error.h"

namespace jali {

namespace {

template <class T>
std::span<const T> part(const std::vector<T>& values, int64_t begin, size_t count) {
    return std::span<const T>(values).subspan(static_cast<size_t>(begin), count);
}

template <class T>
int64_t bytes_in(const std::vector<T>& values) {
    return static_cast<int64_t>(values.size() * sizeof(T));
}

// An index of a broadcast dimension means its only entry.
int64_t own_index(const char* name, int64_t index, int64_t count) {
    if (index < 0 || (count > 1 && index >= count)) {
        throw Error(fmt::format("{} {} is asked of a block mask that has {}", name, index, count));
    }
    return count == 1 ? 0 : index;
}

}  // namespace

std::span<const Run> HeadView::row(int64_t q_tile) const {
    const auto at = static_cast<size_t>(q_tile);
    return runs.subspan(static_cast<size_t>(row_offsets[at]),
                        static_cast<size_t>(row_offsets[at + 1] - row_offsets[at]));
}

std::span<const Run> HeadView::column(int64_t kv_tile) const {
    const auto at = static_cast<size_t>(kv_tile);
    return column_runs.subspan(static_cast<size_t>(column_offsets[at]),
                               static_cast<size_t>(column_offsets[at + 1] - column_offsets[at]));
}

HeadView BlockMask::Data::view(int64_t b, int64_t h) const {
    const Grid& grid = grids[static_cast<size_t>(b)];
    const HeadStart& start = starts[static_cast<size_t>(b * heads + h)];
    const size_t nq = grid.q_tiles.size(), nkv = grid.kv_tiles.size();
    return {.q_tiles = grid.q_tiles,
            .kv_tiles = grid.kv_tiles,
            .row_offsets = part(row_offsets, start.row_offsets, nq + 1),
            .column_offsets = part(column_offsets, start.column_offsets, nkv + 1),
            .runs = runs,
            .column_runs = column_runs,
            .ranks = ranks,
            .q_order = part(q_order, start.q_tiles, nq),
            .kv_order = part(kv_order, start.kv_tiles, nkv)};
}

int64_t BlockMask::batch() const {
    return data_->batch;
}
int64_t BlockMask::heads() const {
    return data_->heads;
}
int64_t BlockMask::q_len() const {
    return data_->q_len;
}
int64_t BlockMask::kv_len() const {
    return data_->kv_len;
}
std::span<const Stencil> BlockMask::stencils() const {
    return data_->stencils;
}
std::span<const Stencil> BlockMask::transposed_stencils() const {
    return data_->transposed_stencils;
}

bool BlockMask::aligned() const {
    const auto on_lines = [](const std::vector<Tile>& tiles) {
        for (const Tile& tile : tiles) {
            if (tile.begin % kTileRows != 0) return false;
        }
        return true;
    };
    for (const Grid& grid : data_->grids) {
        if (!on_lines(grid.q_tiles) || !on_lines(grid.kv_tiles)) return false;
    }
    return true;
}

HeadView BlockMask::head(int64_t b, int64_t h) const {
    return data_->view(own_index("batch", b, data_->batch), own_index("head", h, data_->heads));
}

const Grid& BlockMask::grid(int64_t b) const {
    return data_->grids[static_cast<size_t>(own_index("batch", b, data_->batch))];
}

int64_t BlockMask::bytes() const {
    const Data& data = *data_;
    int64_t bytes = bytes_in(data.starts) + bytes_in(data.row_offsets) + bytes_in(data.runs) + bytes_in(data.stencils) +
                    bytes_in(data.column_offsets) + bytes_in(data.column_runs) + bytes_in(data.ranks) +
                    bytes_in(data.q_order) + bytes_in(data.kv_order) + bytes_in(data.transposed_stencils);
    for (const Grid& grid : data.grids) bytes += bytes_in(grid.q_tiles) + bytes_in(grid.kv_tiles);
    return bytes;
}

bool BlockMask::operator==(const BlockMask& other) const {
    const Data &x = *data_, &y = *other.data_;
    return x.batch == y.batch && x.heads == y.heads && x.q_len == y.q_len && x.kv_len == y.kv_len &&
           x.grids == y.grids && x.row_offsets == y.row_offsets && x.runs == y.runs && x.stencils == y.stencils;
}

}  // namespace jali

// BlockMask: a mask as data. For each query tile the runs of key tiles it needs, each run full or pointing at a
// stencil; the same by key tile; both exact. docs/architecture.md draws the layout.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jali/predicate.h"

namespace jali {

// Rows of a whole tile, on both sides.
inline constexpr int32_t kTileRows = 128;
// Run::stencil of a run whose pairs are all kept.
inline constexpr int32_t kFull = -1;

// Up to 128 consecutive query rows or key rows.
struct Tile {
    int32_t begin;
    int32_t rows;
    bool operator==(const Tile&) const = default;
};

// Consecutive key tiles of one query tile (by row) or consecutive query tiles of one key tile (by column) with one
// fate: full, or all with the same stencil.
struct Run {
    int32_t first_tile;
    int32_t tiles;
    int32_t stencil;  // kFull or an index into stencils()
    bool operator==(const Run&) const = default;
};

// The kept pairs of a tile pair: bit `column % 64` of word `2 * row + column / 64`. Rows are query rows in stencils()
// and key rows in transposed_stencils(). Bits outside the tiles' rows are 0.
struct Stencil {
    std::array<uint64_t, 2 * kTileRows> words{};

    bool bit(int32_t row, int32_t column) const {
        return (words[static_cast<size_t>(2 * row + column / 64)] >> (column % 64) & 1) != 0;
    }
    bool operator==(const Stencil&) const = default;
};

// The tile boundaries of one batch: tiles are adjacent, in order, and cover the whole length.
struct Grid {
    std::vector<Tile> q_tiles;
    std::vector<Tile> kv_tiles;
    bool operator==(const Grid&) const = default;
};

// Everything about one (batch, head): views into a BlockMask that must outlive it.
struct HeadView {
    std::span<const Tile> q_tiles, kv_tiles;
    std::span<const int64_t> row_offsets,
        column_offsets;                      // q_tiles + 1 and kv_tiles + 1 positions in runs, column_runs
    std::span<const Run> runs, column_runs;  // of the whole mask: index them with the offsets
    // For each run by row: how many key tiles of its query tile come before its first one in the issue order of the
    // deterministic backward, which is ascending key tiles.
    std::span<const int32_t> ranks;
    std::span<const int32_t> q_order, kv_order;  // tiles by descending visited tile pairs, ties by ascending index

    std::span<const Run> row(int64_t q_tile) const;      // runs of key tiles, sorted by first tile
    std::span<const Run> column(int64_t kv_tile) const;  // runs of query tiles, sorted by first tile
};

class BlockMask {
   public:
    // The mask's own counts: 1 where the predicate does not use b or h (broadcast).
    int64_t batch() const;
    int64_t heads() const;
    int64_t q_len() const;
    int64_t kv_len() const;
    bool aligned() const;  // every grid line is a multiple of 128

    // Batch and head are taken modulo nothing: an index of a broadcast dimension maps to 0, others must be in range.
    HeadView head(int64_t b, int64_t h) const;
    const Grid& grid(int64_t b) const;
    std::span<const Stencil> stencils() const;
    std::span<const Stencil> transposed_stencils() const;  // same indices

    // Bytes of all arrays above, both orders and transposes included.
    int64_t bytes() const;
    // The same grids, runs and stencils.
    bool operator==(const BlockMask& other) const;

    // Assembles a mask from its row form; derives columns, ranks, orders and transposes. Checks every invariant and
    // throws Error naming the first that fails (this is how files are read).
    struct Parts {
        int64_t batch = 1, heads = 1, q_len = 0, kv_len = 0;
        std::vector<Grid> grids;                        // one a batch
        std::vector<std::vector<int64_t>> row_offsets;  // one a (b, h), from 0, q_tiles + 1 entries
        std::vector<std::vector<Run>> runs;             // one a (b, h)
        std::vector<Stencil> stencils;                  // all different
    };
    static BlockMask assemble(Parts parts);

    struct Data;
    explicit BlockMask(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    const Data& data() const { return *data_; }

   private:
    std::shared_ptr<const Data> data_;
};

enum class GridChoice : uint8_t {
    kAutomatic,  // the one with the fewest computed pairs
    kAligned,    // lines at multiples of 128
    kAnchored,   // lines at the mask's own edges (change points of tables and conditions), then every 128 from each
};

struct BuildOptions {
    Domain domain;
    GridChoice grid = GridChoice::kAutomatic;
    int64_t byte_limit = int64_t{1} << 30;  // of the block mask; more is a LimitError before memory is
};

// What building cost.
struct BuildStatistics {
    int64_t interval_decisions = 0;  // regions of pairs classified by interval arithmetic
    int64_t evaluated_pairs = 0;     // pairs that were evaluated one by one
    double milliseconds = 0;
};

// Builds the block mask of a predicate, exactly. Cost grows with the tiles that the mask's edges touch.
// Throws EvaluationError where the predicate fails at a real pair, LimitError, and Error for impossible sizes.
BlockMask build_block_mask(const Predicate& keep, const BuildOptions& options, BuildStatistics* statistics = nullptr);

// One kept block of a (b, h): rows [q_block * q_block_rows, ...) and keys [kv_block * kv_block_rows, ...).
struct KeptBlock {
    int32_t b, h, q_block, kv_block;
};
struct BlockLists {
    int64_t q_block_rows = kTileRows;
    int64_t kv_block_rows = kTileRows;
    std::vector<KeptBlock> blocks;  // any order; repeats are one
};
// Keeps the pairs of the listed blocks, and among them those that `inside` keeps. The domain's batch and heads say
// how many (b, h) the lists speak of.
BlockMask block_mask_from_blocks(const BlockLists& lists, const BuildOptions& options,
                                 const Predicate& inside = Predicate(true), BuildStatistics* statistics = nullptr);
// From one byte a pair (0 or not), row-major over the domain's (b, h, q, kv).
BlockMask block_mask_from_dense(std::span<const uint8_t> kept, const BuildOptions& options,
                                BuildStatistics* statistics = nullptr);

// The mask of batches [b_begin, b_end) and heads [h_begin, h_end); a broadcast dimension stays broadcast.
BlockMask slice(const BlockMask& mask, int64_t b_begin, int64_t b_end, int64_t h_begin, int64_t h_end);
// The mask of the first q_len queries and kv_len keys, neither longer than the mask's.
BlockMask crop(const BlockMask& mask, int64_t q_len, int64_t kv_len);

// Writes one byte, 0 or 1, a pair of query row q of (b, h) into `row` (kv_len bytes).
void dense_row(const BlockMask& mask, int64_t b, int64_t h, int64_t q, std::span<uint8_t> row);
// The same for key row kv by the column form: `column` has q_len bytes.
void dense_column(const BlockMask& mask, int64_t b, int64_t h, int64_t kv, std::span<uint8_t> column);

struct TileCounts {
    int64_t full = 0, partial = 0, empty = 0;
    bool operator==(const TileCounts&) const = default;
};

// Counted over batch x heads of the mask itself, or over `batch` x `heads` where a broadcast mask serves more.
struct MaskStatistics {
    int64_t useful_pairs = 0;
    int64_t computed_pairs = 0;  // 128 x 128 for every visited tile pair, short tiles included
    int64_t empty_rows = 0;
    int64_t empty_columns = 0;
    TileCounts tiles;          // on the mask's own grid: full and stencil tile pairs, and the rest
    TileCounts aligned_tiles;  // on the aligned grid; a tile cut by the end of a sequence is full when all its real
                               // pairs are kept
    int64_t stencils = 0;
    int64_t runs = 0;
    int64_t bytes = 0;
};
MaskStatistics statistics(const BlockMask& mask);
MaskStatistics statistics(const BlockMask& mask, int64_t batch, int64_t heads);

}  // namespace jali

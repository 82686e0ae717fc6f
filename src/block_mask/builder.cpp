// Building: tiles of tiles are classified by interval arithmetic and split where it cannot decide; a single tile pair
// that it cannot decide is evaluated pair by pair.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "block_mask/assembled_bytes.h"
#include "block_mask/data.h"
#include "block_mask/grid.h"
#include "block_mask/row_runs.h"
#include "block_mask/stencil_table.h"
#include "jali/block_mask.h"
#include "jali/error.h"
#include "mask/first_failure.h"
#include "mask/program.h"
#include "mask/tile_evaluator.h"

namespace jali {

namespace {

// Query tiles [q_first, q_end) x key tiles [kv_first, kv_end).
struct TileRange {
    int32_t q_first, q_end, kv_first, kv_end;
};

// Thrown where a predicate turns out to fail somewhere; the first failing pair is then searched for.
struct PredicateFails {};
// Thrown where a grid has become worse than one that is already built.
struct TooManyTiles {};

class HeadBuilder {
   public:
    // Counts into `statistics`, also where the grid is given up.
    HeadBuilder(const Program& program, const Grid& grid, RowRunCollector& rows, BuildStatistics& statistics)
        : grid_(grid), rows_(rows), evaluator_(program), statistics_(statistics) {}

    void build(int64_t most_visited_tiles) {
        most_visited_tiles_ = most_visited_tiles;
        const auto nq = static_cast<int32_t>(grid_.q_tiles.size()), nkv = static_cast<int32_t>(grid_.kv_tiles.size());
        if (nq > 0 && nkv > 0) visit({0, nq, 0, nkv});
    }

   private:
    // Visits the parts of a range in an order that reaches the key tiles of every query tile from left to right.
    void visit(const TileRange& range) {
        ++statistics_.interval_decisions;
        const Interval keep = evaluator_.classify(region_of(range));
        const int32_t rows = range.q_end - range.q_first, columns = range.kv_end - range.kv_first;
        if (keep.decided()) {
            if (keep.lo != 0) add_full(range);
        } else if (rows == 1 && columns == 1) {
            evaluate(range);
        } else {
            // Long sides first, so that ranges become square.
            const bool split_queries = rows > 1 && 2 * rows > columns, split_keys = columns > 1 && 2 * columns > rows;
            const int32_t q_middle = split_queries ? range.q_first + rows / 2 : range.q_end;
            const int32_t kv_middle = split_keys ? range.kv_first + columns / 2 : range.kv_end;
            visit({range.q_first, q_middle, range.kv_first, kv_middle});
            if (split_keys) visit({range.q_first, q_middle, kv_middle, range.kv_end});
            if (split_queries) visit({q_middle, range.q_end, range.kv_first, kv_middle});
            if (split_queries && split_keys) visit({q_middle, range.q_end, kv_middle, range.kv_end});
        }
    }

    void add_full(const TileRange& range) {
        rows_.add_full(range.q_first, range.q_end, range.kv_first, range.kv_end);
        check_visited();
    }

    void evaluate(const TileRange& range) {
        const Tile& q_tile = grid_.q_tiles[static_cast<size_t>(range.q_first)];
        const Tile& kv_tile = grid_.kv_tiles[static_cast<size_t>(range.kv_first)];
        evaluator_.evaluate({q_tile.begin, kv_tile.begin, q_tile.rows, kv_tile.rows});
        if (evaluator_.has_failures()) throw PredicateFails{};
        statistics_.evaluated_pairs += int64_t{q_tile.rows} * kv_tile.rows;
        rows_.add_tile(range.q_first, range.kv_first, Stencil{evaluator_.keeps()});
        check_visited();
    }

    void check_visited() const {
        if (rows_.visited_tiles() > most_visited_tiles_) throw TooManyTiles{};
    }

    Region region_of(const TileRange& range) const {
        const Tile& q_last = grid_.q_tiles[static_cast<size_t>(range.q_end) - 1];
        const Tile& kv_last = grid_.kv_tiles[static_cast<size_t>(range.kv_end) - 1];
        return {grid_.q_tiles[static_cast<size_t>(range.q_first)].begin, int64_t{q_last.begin} + q_last.rows - 1,
                grid_.kv_tiles[static_cast<size_t>(range.kv_first)].begin, int64_t{kv_last.begin} + kv_last.rows - 1};
    }

    const Grid& grid_;
    RowRunCollector& rows_;
    TileEvaluator evaluator_;
    BuildStatistics& statistics_;
    int64_t most_visited_tiles_ = 0;
};

// The heads of one batch on one grid.
struct BatchParts {
    Grid grid;
    std::vector<std::vector<int64_t>> row_offsets{};
    std::vector<std::vector<Run>> runs{};
    std::vector<Stencil> stencils{};
    int64_t visited_tiles = 0;
    int64_t bytes = 0;  // of runs and stencils, both orders
};

// Nothing where it would visit more tile pairs than allowed.
std::optional<BatchParts> build_on(Grid grid, std::span<const Program> heads, int64_t byte_limit,
                                   int64_t most_visited_tiles, BuildStatistics& statistics) {
    BatchParts parts;
    parts.grid = std::move(grid);
    StencilTable stencils;
    int64_t runs = 0;
    try {
        for (const Program& program : heads) {
            RowRunCollector rows(parts.grid, stencils, {.bytes = byte_limit, .runs_before = runs});
            HeadBuilder(program, parts.grid, rows, statistics).build(most_visited_tiles - parts.visited_tiles);
            rows.append_to(parts.row_offsets.emplace_back(), parts.runs.emplace_back());
            parts.visited_tiles += rows.visited_tiles();
            runs = rows.runs();
            parts.bytes = rows.bytes();
        }
    } catch (const TooManyTiles&) {
        return std::nullopt;
    }
    parts.stencils = stencils.take();
    return parts;
}

// The grids worth trying for one batch, the aligned one first.
std::vector<Grid> candidate_grids(std::span<const Program> heads, const BuildOptions& options,
                                  BuildStatistics& statistics) {
    const int64_t q_len = options.domain.q_len, kv_len = options.domain.kv_len;
    std::vector<Grid> grids;
    const auto add = [&](std::span<const int64_t> q_anchors, std::span<const int64_t> kv_anchors) {
        Grid grid{tiles_from(q_anchors, q_len), tiles_from(kv_anchors, kv_len)};
        if (std::find(grids.begin(), grids.end(), grid) == grids.end()) grids.push_back(std::move(grid));
    };
    if (options.grid != GridChoice::kAnchored) add({}, {});
    if (options.grid == GridChoice::kAligned) return grids;
    const Anchors anchors = anchors_of(heads, statistics.interval_decisions);
    if (q_len == kv_len) {
        // Edges of one side are usually edges of the other: documents given as `start[q] <= kv`, say.
        std::vector<int64_t> both;
        std::set_union(anchors.q.begin(), anchors.q.end(), anchors.kv.begin(), anchors.kv.end(),
                       std::back_inserter(both));
        add(both, both);
    }
    add(anchors.q, anchors.kv);
    return grids;
}

BatchParts build_batch(std::span<const Program> heads, const BuildOptions& options, BuildStatistics& statistics) {
    std::optional<BatchParts> best;
    std::optional<LimitError> too_large;
    for (Grid& grid : candidate_grids(heads, options, statistics)) {
        const int64_t most = best ? best->visited_tiles - 1 : std::numeric_limits<int64_t>::max();
        try {
            auto parts = build_on(std::move(grid), heads, options.byte_limit, most, statistics);
            if (parts) best = std::move(parts);
        } catch (const LimitError& error) {
            if (!too_large) too_large = error;
        }
    }
    if (!best) throw *too_large;
    return std::move(*best);
}

void append_batch(BatchParts batch, StencilTable& stencils, BlockMask::Parts& parts) {
    std::vector<int32_t> renumbered;
    renumbered.reserve(batch.stencils.size());
    for (const Stencil& stencil : batch.stencils) renumbered.push_back(stencils.add(stencil));
    for (std::vector<Run>& runs : batch.runs) {
        for (Run& run : runs) {
            if (run.stencil != kFull) run.stencil = renumbered[static_cast<size_t>(run.stencil)];
        }
        parts.runs.push_back(std::move(runs));
    }
    for (std::vector<int64_t>& offsets : batch.row_offsets) parts.row_offsets.push_back(std::move(offsets));
    parts.grids.push_back(std::move(batch.grid));
}

void check_domain(const Domain& domain) {
    const auto check = [](const char* what, int64_t value, int64_t least) {
        constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();
        if (value < least || value > kLongest) {
            throw Error(fmt::format("{} is {} and must be {} to {}", what, value, least, kLongest));
        }
    };
    check("the batch count", domain.batch, 1);
    check("the head count", domain.heads, 1);
    check("the query length", domain.q_len, 0);
    check("the key length", domain.kv_len, 0);
}

// What tiles, offsets and orders take on an aligned grid, known before anything is built.
int64_t bytes_without_runs(const Domain& domain, int64_t batch, int64_t heads) {
    const auto tiles = [](int64_t length) { return (length + kTileRows - 1) / kTileRows; };
    const int64_t per_tile = static_cast<int64_t>(sizeof(int64_t) + sizeof(int32_t));
    const auto per_head = static_cast<double>((tiles(domain.q_len) + tiles(domain.kv_len) + 2) * per_tile);
    const double bytes = per_head * static_cast<double>(batch) * static_cast<double>(heads);
    return bytes < 9e18 ? static_cast<int64_t>(bytes) : std::numeric_limits<int64_t>::max();
}

int64_t checked_run_budget(const BuildOptions& options, int64_t batch, int64_t heads) {
    const int64_t fixed = bytes_without_runs(options.domain, batch, heads);
    if (fixed > options.byte_limit) {
        throw LimitError(
            fmt::format("the block mask of {} batches and {} heads would take {} bytes before its runs, and "
                        "the limit is {} bytes",
                        batch, heads, fixed, options.byte_limit));
    }
    return options.byte_limit - fixed;
}

}  // namespace

BlockMask build_block_mask(const Predicate& keep, const BuildOptions& options, BuildStatistics* statistics) {
    const auto start = std::chrono::steady_clock::now();
    check_domain(options.domain);
    const Predicate simplified = simplify(keep);
    const int64_t batch = simplified.uses_b() ? options.domain.batch : 1;
    const int64_t heads = simplified.uses_h() ? options.domain.heads : 1;
    BuildStatistics counted;
    BlockMask::Parts parts;
    parts.batch = batch;
    parts.heads = heads;
    parts.q_len = options.domain.q_len;
    parts.kv_len = options.domain.kv_len;
    BuildOptions remaining = options;
    remaining.byte_limit = checked_run_budget(options, batch, heads);
    try {
        StencilTable stencils;
        for (int64_t b = 0; b < batch; ++b) {
            std::vector<Program> programs;
            for (int64_t h = 0; h < heads; ++h) programs.push_back(compile(simplified, options.domain, b, h));
            BatchParts built = build_batch(programs, remaining, counted);
            remaining.byte_limit -= built.bytes;
            if (batch == 1) {
                parts.stencils = std::move(built.stencils);
                parts.runs = std::move(built.runs);
                parts.row_offsets = std::move(built.row_offsets);
                parts.grids.push_back(std::move(built.grid));
            } else {
                append_batch(std::move(built), stencils, parts);
            }
        }
        if (batch > 1) parts.stencils = stencils.take();
    } catch (const PredicateFails&) {
        throw_first_failure(keep, options.domain);
    }
    if (const int64_t bytes = assembled_bytes(parts); bytes > options.byte_limit) {
        throw LimitError(
            fmt::format("the block mask would take {} bytes, and the limit is {} bytes", bytes, options.byte_limit));
    }
    BlockMask mask = finish(std::move(parts));
    counted.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (statistics != nullptr) *statistics = counted;
    return mask;
}

}  // namespace jali

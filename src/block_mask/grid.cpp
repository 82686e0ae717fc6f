#include "block_mask/grid.h"

#include <algorithm>

namespace jali {

namespace {

enum class Side : uint8_t { kQueries, kKeys };

// More tiles than this many times the aligned grid's cannot win, and as many interval decisions are spent per anchor.
constexpr int64_t kTilesAgainstAligned = 4;
constexpr int64_t kDecisionsAnAnchor = 64;

// Walks one side in order and notes where a sub-expression's value changes.
class ChangeFinder {
   public:
    ChangeFinder(const Program& program, int32_t instruction, Side side)
        : program_(program), instruction_(instruction), side_(side) {
        const int64_t length = side == Side::kQueries ? program.domain.q_len : program.domain.kv_len;
        most_changes_ = kTilesAgainstAligned * (length / kTileRows + 1);
        most_decisions_ = kDecisionsAnAnchor * most_changes_;
        completed_ = length > 0 && visit(0, length - 1);
    }

    bool completed() const { return completed_; }
    int64_t decisions() const { return decisions_; }
    const std::vector<int64_t>& changes() const { return changes_; }

   private:
    bool visit(int64_t first, int64_t last) {
        if (++decisions_ > most_decisions_) return false;
        const Region region = side_ == Side::kQueries ? Region{first, last, 0, 0} : Region{0, 0, first, last};
        intervals_over(program_, region, intervals_);
        const Interval& interval = intervals_[static_cast<size_t>(instruction_)];
        if (!interval.single() && first < last) {
            const int64_t middle = first + (last - first) / 2;
            return visit(first, middle) && visit(middle + 1, last);
        }
        if (first > 0 && interval.lo != value_before_) changes_.push_back(first);
        value_before_ = interval.lo;
        return static_cast<int64_t>(changes_.size()) <= most_changes_;
    }

    const Program& program_;
    int32_t instruction_;
    Side side_;
    int64_t most_changes_ = 0;
    int64_t most_decisions_ = 0;
    int64_t decisions_ = 0;
    int64_t value_before_ = 0;
    bool completed_ = false;
    std::vector<Interval> intervals_;
    std::vector<int64_t> changes_;
};

bool lives_on(const Instruction& instruction, Side side) {
    const bool uses_this = side == Side::kQueries ? instruction.uses_q : instruction.uses_kv;
    const bool uses_other = side == Side::kQueries ? instruction.uses_kv : instruction.uses_q;
    return uses_this && !uses_other;
}

// The instructions that live on one side and feed one that does not (or are the predicate itself).
std::vector<int32_t> largest_on(const Program& program, Side side) {
    const auto count = static_cast<int32_t>(program.instructions.size());
    std::vector<bool> feeds_another(static_cast<size_t>(count), false);
    feeds_another.back() = true;
    for (const Instruction& instruction : program.instructions) {
        if (lives_on(instruction, side)) continue;
        for (const int32_t operand : instruction.operands) feeds_another[static_cast<size_t>(operand)] = true;
    }
    std::vector<int32_t> largest;
    for (int32_t id = 0; id < count; ++id) {
        const Instruction& instruction = program.instructions[static_cast<size_t>(id)];
        // An affine value changes at every position: it has no edges of its own.
        if (feeds_another[static_cast<size_t>(id)] && lives_on(instruction, side) && !instruction.is_affine) {
            largest.push_back(id);
        }
    }
    return largest;
}

std::vector<int64_t> anchors_on(std::span<const Program> heads, Side side, int64_t& decisions) {
    std::vector<int64_t> anchors;
    int64_t most = 0;
    for (const Program& program : heads) {
        const int64_t length = side == Side::kQueries ? program.domain.q_len : program.domain.kv_len;
        most = kTilesAgainstAligned * (length / kTileRows + 1);
        for (const int32_t instruction : largest_on(program, side)) {
            const ChangeFinder finder(program, instruction, side);
            decisions += finder.decisions();
            if (finder.completed()) anchors.insert(anchors.end(), finder.changes().begin(), finder.changes().end());
        }
        std::sort(anchors.begin(), anchors.end());
        anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
    }
    if (static_cast<int64_t>(anchors.size()) > most) anchors.clear();
    return anchors;
}

}  // namespace

std::vector<Tile> tiles_from(std::span<const int64_t> anchors, int64_t length) {
    std::vector<Tile> tiles;
    int64_t begin = 0;
    const auto fill_until = [&](int64_t end) {
        for (; begin < end; begin += tiles.back().rows) {
            tiles.push_back(
                {static_cast<int32_t>(begin), static_cast<int32_t>(std::min<int64_t>(kTileRows, end - begin))});
        }
    };
    for (const int64_t anchor : anchors) fill_until(anchor);
    fill_until(length);
    return tiles;
}

Anchors anchors_of(std::span<const Program> heads, int64_t& decisions) {
    return {anchors_on(heads, Side::kQueries, decisions), anchors_on(heads, Side::kKeys, decisions)};
}

}  // namespace jali

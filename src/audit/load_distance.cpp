#include "audit/load_distance.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace jali::audit {
namespace {

constexpr int64_t kInstructionBytes = 16;
constexpr uint64_t kNoScoreboard = 7;
constexpr int64_t kNear = 8;
// Where the wait is farther away than this, the load is as good as unwaited for: keeps time linear in the code.
constexpr int64_t kFarthest = 4096;

bool is_load(const Instruction& instruction, InstructionKind memory) {
    if (instruction.kind != memory) return false;
    constexpr std::string_view kLoads[] = {"LD", "LDG", "LDGMC", "LDS", "LDSM"};
    return std::find(std::begin(kLoads), std::end(kLoads), instruction.mnemonic) != std::end(kLoads);
}

// The scoreboard that is held until the result is written.
uint64_t held_by(const Instruction& instruction) {
    return bits(instruction, 110, 3);
}

// DEPBAR.LE SBn, count: goes on when at most `count` of those who hold the scoreboard are left, in their order.
bool is_counting_wait(const Instruction& instruction) {
    return instruction.mnemonic == "DEPBAR";
}

// Whether this instruction does not go on before `load_scoreboard` is free of a load behind which `later` others took
// the same one.
bool waits(const Instruction& instruction, uint64_t scoreboard, int64_t later) {
    if ((bits(instruction, 116, 6) >> scoreboard & 1) != 0) return true;
    if (!is_counting_wait(instruction)) return false;
    if (bits(instruction, 44, 3) == scoreboard) return static_cast<int64_t>(bits(instruction, 38, 6)) <= later;
    return (bits(instruction, 32, 6) >> scoreboard & 1) != 0;  // DEPBAR {5,4,3,2,1,0}
}

struct Range {
    int64_t begin = 0, end = 0;  // indices of instructions
};

// The innermost loop around each instruction; all of the code where there is none. Loops may overlap, so that each
// instruction is passed by once: `next` leads to the first at or behind it that has no range yet.
std::vector<Range> ranges_of(std::span<const Instruction> code, std::span<const Loop> loops) {
    std::vector<const Loop*> inner_first;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) inner_first.push_back(&*loop);
    std::stable_sort(inner_first.begin(), inner_first.end(),
                     [](const Loop* a, const Loop* b) { return a->depth > b->depth; });
    std::vector<Range> ranges(code.size(), {0, std::ssize(code)});
    std::vector<int64_t> next(code.size() + 1);
    std::iota(next.begin(), next.end(), int64_t{0});
    const auto first_without = [&](int64_t i) {
        auto at = static_cast<size_t>(i);
        while (next[at] != static_cast<int64_t>(at)) {
            const auto further = static_cast<size_t>(next[at]);
            at = static_cast<size_t>(next[at] = next[further]);
        }
        return static_cast<int64_t>(at);
    };
    for (const Loop* loop : inner_first) {
        const Range range = {loop->begin / kInstructionBytes,
                             std::min(std::ssize(code), loop->end / kInstructionBytes)};
        for (int64_t i = first_without(range.begin); i < range.end; i = first_without(i + 1)) {
            ranges[static_cast<size_t>(i)] = range;
            next[static_cast<size_t>(i)] = i + 1;
        }
    }
    return ranges;
}

// Instructions between the load at `at` and its wait; -1: none.
int64_t distance_from(std::span<const Instruction> code, int64_t at, const Range& loop) {
    const uint64_t scoreboard = held_by(code[static_cast<size_t>(at)]);
    int64_t passed = 0, later = 0;
    // First to the end of the loop, then from its begin to the load, then on behind the loop.
    const auto search = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end && passed < kFarthest; ++i, ++passed) {
            const Instruction& instruction = code[static_cast<size_t>(i)];
            if (waits(instruction, scoreboard, later)) return true;
            if (held_by(instruction) == scoreboard) ++later;
        }
        return false;
    };
    if (search(at + 1, loop.end)) return passed;
    const bool is_in_loop = loop.begin > 0 || loop.end < std::ssize(code);
    if (!is_in_loop) return -1;
    const int64_t to_end = passed, later_to_end = later;
    if (search(loop.begin, at)) return passed;
    passed = to_end;
    later = later_to_end;
    return search(loop.end, std::ssize(code)) ? passed : -1;
}

}  // namespace

LoadDistance load_distance_of(std::span<const Instruction> code, std::span<const Loop> loops, InstructionKind memory) {
    const std::vector<Range> ranges = ranges_of(code, loops);
    std::vector<int64_t> distances;
    for (size_t i = 0; i < code.size(); ++i) {
        if (!is_load(code[i], memory) || held_by(code[i]) == kNoScoreboard) continue;
        const int64_t distance = distance_from(code, static_cast<int64_t>(i), ranges[i]);
        if (distance >= 0) distances.push_back(distance);
    }
    LoadDistance result;
    result.loads = std::ssize(distances);
    if (distances.empty()) return result;
    result.under_8 = std::count_if(distances.begin(), distances.end(), [](int64_t d) { return d < kNear; });
    const auto middle = distances.begin() + std::ssize(distances) / 2;
    std::nth_element(distances.begin(), middle, distances.end());
    result.median = *middle;
    return result;
}

}  // namespace jali::audit

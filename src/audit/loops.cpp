#include "audit/loops.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "audit/branch.h"

namespace jali::audit {
namespace {

size_t at(int64_t index) {
    return static_cast<size_t>(index);
}

// Blocks that are looked at together: all that can be reached, then the inside of each loop.
struct Region {
    std::vector<int64_t> blocks;
    int64_t depth = 0;
    int64_t loop = -1;  // whose inside it is, as an index
};

class LoopFinder {
   public:
    LoopFinder(std::vector<Block>& blocks, std::span<const int64_t> entries, std::span<const Instruction> code)
        : blocks_(blocks),
          code_(code),
          encoding_(branch_encoding_of(code)),
          region_of_(blocks.size(), -1),
          is_header_(blocks.size(), false),
          is_entry_(blocks.size(), false),
          number_(blocks.size(), 0),
          lowest_(blocks.size(), 0),
          part_of_(blocks.size(), -1),
          predecessors_(blocks.size()) {
        find_reachable(entries);
    }

    LoopNest find() {
        std::vector<Region> regions;
        regions.push_back({reachable_, 0, -1});
        while (!regions.empty()) {
            const Region region = std::move(regions.back());
            regions.pop_back();
            split(region, regions);
        }
        deepen_callees();
        return by_begin();
    }

   private:
    void find_reachable(std::span<const int64_t> entries) {
        const auto visit = [&](int64_t block) {
            if (blocks_[at(block)].loop_depth == 0) return;
            blocks_[at(block)].loop_depth = 0;
            reachable_.push_back(block);
        };
        for (Block& block : blocks_) block.loop_depth = block.loop = -1;
        for (const int64_t entry : entries) {
            is_entry_[at(entry)] = true;
            visit(entry);
        }
        for (size_t next = 0; next < reachable_.size(); ++next) {
            const Block& block = blocks_[at(reachable_[next])];
            for (const int64_t successor : block.successors) {
                predecessors_[at(successor)].push_back(reachable_[next]);
                visit(successor);
            }
            if (block.callee < 0) continue;
            is_entry_[at(block.callee)] = true;
            visit(block.callee);
        }
    }

    // Finds the strongly connected parts (Tarjan 1972, with a stack of its own instead of recursion).
    void split(const Region& region, std::vector<Region>& regions) {
        const int64_t id = next_region_++;
        for (const int64_t block : region.blocks) {
            region_of_[at(block)] = id;
            number_[at(block)] = 0;
        }
        int64_t next_number = 1;
        struct Visit {
            int64_t block;
            size_t next_successor;
        };
        std::vector<Visit> visits;
        std::vector<int64_t> open;
        const auto begin_visit = [&](int64_t block) {
            number_[at(block)] = lowest_[at(block)] = next_number++;
            visits.push_back({block, 0});
            open.push_back(block);
        };
        for (const int64_t root : region.blocks) {
            if (number_[at(root)] != 0) continue;
            begin_visit(root);
            while (!visits.empty()) {
                const int64_t block = visits.back().block;
                const auto& successors = blocks_[at(block)].successors;
                if (visits.back().next_successor < successors.size()) {
                    const int64_t successor = successors[visits.back().next_successor++];
                    if (region_of_[at(successor)] != id || is_header_[at(successor)]) continue;
                    if (number_[at(successor)] == 0)
                        begin_visit(successor);
                    else  // blocks of finished parts have left the region
                        lowest_[at(block)] = std::min(lowest_[at(block)], number_[at(successor)]);
                    continue;
                }
                visits.pop_back();
                if (!visits.empty()) {
                    int64_t& lowest = lowest_[at(visits.back().block)];
                    lowest = std::min(lowest, lowest_[at(block)]);
                }
                if (lowest_[at(block)] != number_[at(block)]) continue;
                const auto first = std::find(open.rbegin(), open.rend(), block).base() - 1;
                std::vector<int64_t> part(first, open.end());
                open.erase(first, open.end());
                finish(std::move(part), region, regions);
            }
        }
    }

    void finish(std::vector<int64_t> part, const Region& region, std::vector<Region>& regions) {
        const int64_t id = next_part_++;
        for (const int64_t block : part) {
            region_of_[at(block)] = -1;
            part_of_[at(block)] = id;
        }
        const auto jumps_to_itself = [&](int64_t block) {
            const auto& successors = blocks_[at(block)].successors;
            return !is_header_[at(block)] && std::find(successors.begin(), successors.end(), block) != successors.end();
        };
        if (part.size() == 1 && !jumps_to_itself(part.front())) return;
        std::sort(part.begin(), part.end());

        int64_t header = -1;
        for (const int64_t block : part) {
            const auto& before = predecessors_[at(block)];
            const bool entered = is_entry_[at(block)] || std::any_of(before.begin(), before.end(), [&](int64_t from) {
                                     return part_of_[at(from)] != id;
                                 });
            if (!entered) continue;
            is_header_[at(block)] = true;
            if (header < 0) header = block;
        }
        const int64_t depth = std::min(region.depth + 1, kMostLoopDepth);
        if (region.loop >= 0) loops_[at(region.loop)].innermost = false;
        const auto loop = static_cast<int64_t>(loops_.size());
        loops_.push_back(loop_of(part, header, depth));
        outer_.push_back(region.loop);
        for (const int64_t block : part) {
            blocks_[at(block)].loop_depth = depth;
            blocks_[at(block)].loop = loop;
        }
        if (region.depth + 1 < kMostLoopDepth) regions.push_back({std::move(part), depth, loop});
    }

    // The loops in the order that is returned, and all that names them.
    LoopNest by_begin() {
        std::vector<size_t> order(loops_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return std::pair(loops_[a].begin, loops_[a].depth) < std::pair(loops_[b].begin, loops_[b].depth);
        });
        std::vector<int64_t> place(loops_.size());
        for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int64_t>(i);
        const auto placed = [&](int64_t loop) { return loop < 0 ? loop : place[at(loop)]; };
        LoopNest nest;
        for (const size_t loop : order) {
            nest.loops.push_back(loops_[loop]);
            nest.outer.push_back(placed(outer_[loop]));
        }
        for (Block& block : blocks_) block.loop = placed(block.loop);
        return nest;
    }

    Loop loop_of(const std::vector<int64_t>& part, int64_t header, int64_t depth) const {
        Loop loop;
        loop.begin = code_[at(blocks_[at(header)].begin)].offset;
        loop.depth = depth;
        loop.innermost = true;
        loop.role = blocks_[at(header)].role;
        int64_t last = -1, last_back = -1;  // blocks
        for (const int64_t index : part) {
            const Block& block = blocks_[at(index)];
            loop.instructions += block.end - block.begin;
            loop.branches += std::count_if(
                code_.begin() + block.begin, code_.begin() + block.end,
                [&](const Instruction& each) { return branch_of(each, encoding_).kind != BranchKind::kNone; });
            last = index;
            if (std::find(block.successors.begin(), block.successors.end(), header) != block.successors.end())
                last_back = index;
        }
        const int64_t end_block = last_back >= header ? last_back : last;
        loop.end = code_[at(blocks_[at(end_block)].end - 1)].offset + kInstructionBytes;
        return loop;
    }

    // Adds the depth of calls to what they call, and on. Each block is visited once a level at most.
    void deepen_callees() {
        std::vector<int64_t> added(blocks_.size(), 0);
        std::vector<int64_t> to_visit;
        const auto deepen = [&](int64_t block, int64_t depth) {
            if (block < 0 || added[at(block)] >= depth) return;
            added[at(block)] = depth;
            to_visit.push_back(block);
        };
        const auto depth_of = [&](int64_t block) {
            return std::min(blocks_[at(block)].loop_depth + added[at(block)], kMostLoopDepth);
        };
        for (const int64_t block : reachable_) deepen(blocks_[at(block)].callee, depth_of(block));
        while (!to_visit.empty()) {
            const int64_t block = to_visit.back();
            to_visit.pop_back();
            for (const int64_t successor : blocks_[at(block)].successors) deepen(successor, added[at(block)]);
            deepen(blocks_[at(block)].callee, depth_of(block));
        }
        for (Loop& loop : loops_) {
            const int64_t header = block_at(loop.begin);
            loop.depth = std::min(loop.depth + added[at(header)], kMostLoopDepth);
        }
        for (const int64_t block : reachable_) blocks_[at(block)].loop_depth = depth_of(block);
    }

    int64_t block_at(int64_t offset) const {
        const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), offset, [&](int64_t value, const Block& b) {
            return value < code_[at(b.begin)].offset;
        });
        return after - blocks_.begin() - 1;
    }

    std::vector<Block>& blocks_;
    std::span<const Instruction> code_;
    BranchEncoding encoding_;
    std::vector<int64_t> reachable_;
    std::vector<int64_t> region_of_;  // -1: of none that is being split
    std::vector<bool> is_header_, is_entry_;
    std::vector<int64_t> number_, lowest_;
    std::vector<int64_t> part_of_;
    std::vector<std::vector<int64_t>> predecessors_;
    std::vector<Loop> loops_;
    std::vector<int64_t> outer_;  // of each loop
    int64_t next_region_ = 0, next_part_ = 0;
};

}  // namespace

LoopNest find_loops(std::vector<Block>& blocks, std::span<const int64_t> entries, std::span<const Instruction> code) {
    return LoopFinder(blocks, entries, code).find();
}

}  // namespace jali::audit

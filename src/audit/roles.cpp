#include "audit/roles.h"

#include <algorithm>
#include <numeric>

#include "audit/branch.h"

namespace jali::audit {
namespace {

constexpr uint32_t kSetMaxRegisters = 0x9c8;

// Where a budget begins to hold.
struct Source {
    int64_t registers = 0;
    std::vector<int64_t> blocks;
    bool is_start = false;  // of the kernel, before any setmaxnreg
};

class Merger {
   public:
    explicit Merger(size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), size_t{0}); }

    size_t find(size_t element) {
        while (parents_[element] != element) element = parents_[element] = parents_[parents_[element]];
        return element;
    }
    void merge(size_t a, size_t b) {
        a = find(a);
        b = find(b);
        parents_[std::max(a, b)] = std::min(a, b);
    }

   private:
    std::vector<size_t> parents_;
};

// By budget, so that each block goes to the first that reaches it; the start last among equals.
std::vector<Source> sources_of(const std::vector<Block>& blocks, std::span<const int64_t> entries,
                               std::span<const Instruction> code, int64_t registers) {
    std::vector<Source> sources;
    sources.push_back({registers, {entries.begin(), entries.end()}, true});
    for (size_t block = 0; block < blocks.size(); ++block) {
        const auto budget = register_budget(code[static_cast<size_t>(blocks[block].begin)]);
        if (budget) sources.push_back({*budget, {static_cast<int64_t>(block)}, false});
    }
    std::stable_sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
        return a.registers != b.registers ? a.registers < b.registers : a.is_start < b.is_start;
    });
    return sources;
}

std::vector<bool> reachable_blocks(const std::vector<Block>& blocks, std::span<const int64_t> entries) {
    std::vector<bool> reachable(blocks.size(), false);
    std::vector<int64_t> to_visit;
    const auto visit = [&](int64_t block) {
        if (block < 0 || reachable[static_cast<size_t>(block)]) return;
        reachable[static_cast<size_t>(block)] = true;
        to_visit.push_back(block);
    };
    for (const int64_t entry : entries) visit(entry);
    while (!to_visit.empty()) {
        const Block& block = blocks[static_cast<size_t>(to_visit.back())];
        to_visit.pop_back();
        for (const int64_t successor : block.successors) visit(successor);
        visit(block.callee);
    }
    return reachable;
}

}  // namespace

std::optional<int64_t> register_budget(const Instruction& instruction) {
    if (instruction.opcode() != kSetMaxRegisters) return std::nullopt;
    return static_cast<int64_t>((instruction.low >> 32) & 0xffff);
}

std::vector<Role> find_roles(std::vector<Block>& blocks, std::span<const int64_t> entries,
                             std::span<const Instruction> code, int64_t registers) {
    const std::vector<Source> sources = sources_of(blocks, entries, code, registers);
    const std::vector<bool> reachable = reachable_blocks(blocks, entries);
    Merger merger(sources.size());
    std::vector<int64_t> source_of(blocks.size(), -1);
    std::vector<int64_t> to_visit;
    for (size_t source = 0; source < sources.size(); ++source) {
        const auto claim = [&](int64_t index, bool begins_here) {
            if (index < 0) return;
            const Block& block = blocks[static_cast<size_t>(index)];
            if (!begins_here && register_budget(code[static_cast<size_t>(block.begin)])) return;
            int64_t& owner = source_of[static_cast<size_t>(index)];
            if (owner < 0) {
                owner = static_cast<int64_t>(source);
                to_visit.push_back(index);
                return;
            }
            const Source& other = sources[static_cast<size_t>(owner)];
            if (other.registers == sources[source].registers && !other.is_start && !sources[source].is_start)
                merger.merge(static_cast<size_t>(owner), source);
        };
        for (const int64_t block : sources[source].blocks) {
            const bool is_set = !sources[source].is_start;
            if (reachable[static_cast<size_t>(block)]) claim(block, is_set);
        }
        while (!to_visit.empty()) {
            const Block& block = blocks[static_cast<size_t>(to_visit.back())];
            to_visit.pop_back();
            for (const int64_t successor : block.successors) claim(successor, false);
            claim(block.callee, false);
        }
    }

    // The start is a role even where its first instruction is a setmaxnreg.
    std::vector<Role> roles(1);
    roles.front().registers = registers;
    std::vector<int64_t> role_of(sources.size(), -1);
    for (size_t source = 0; source < sources.size(); ++source) {
        if (sources[source].is_start) role_of[source] = 0;
    }
    for (size_t index = 0; index < blocks.size(); ++index) {
        if (source_of[index] < 0) continue;
        Block& block = blocks[index];
        const size_t source = merger.find(static_cast<size_t>(source_of[index]));
        if (role_of[source] < 0) {
            role_of[source] = static_cast<int64_t>(roles.size());
            Role role;
            role.registers = sources[source].registers;
            role.begin = code[static_cast<size_t>(block.begin)].offset;
            roles.push_back(role);
        }
        block.role = role_of[source];
        roles[static_cast<size_t>(block.role)].instructions += block.end - block.begin;
    }
    return roles;
}

}  // namespace jali::audit

#include "audit/control_flow.h"

#include <algorithm>
#include <utility>

#include "audit/branch.h"
#include "audit/loops.h"
#include "audit/roles.h"

namespace jali::audit {
namespace {

class Builder {
   public:
    Builder(std::span<const Instruction> code, const CodeFacts& facts)
        : code_(code), facts_(facts), encoding_(branch_encoding_of(code)), size_(static_cast<int64_t>(code.size())) {}

    ControlFlow build(int64_t registers) {
        ControlFlow flow;
        mark_leaders();
        cut_into_blocks(flow);
        connect(flow);
        const std::vector<int64_t> entries = entry_blocks(flow);
        flow.roles = find_roles(flow.blocks, entries, code_, registers);
        LoopNest nest = find_loops(flow.blocks, entries, code_);
        flow.loops = std::move(nest.loops);
        flow.outer = std::move(nest.outer);
        return flow;
    }

   private:
    // -1 where no instruction begins at the offset.
    int64_t index_at(int64_t offset) const {
        if (code_.empty() || offset < code_.front().offset) return -1;
        const int64_t bytes = offset - code_.front().offset;
        const int64_t index = bytes / kInstructionBytes;
        return bytes % kInstructionBytes == 0 && index < size_ ? index : -1;
    }

    const std::vector<int64_t>& indirect_targets(int64_t offset) const {
        static const std::vector<int64_t> none;
        const auto found = facts_.indirect_targets.find(offset);
        return found == facts_.indirect_targets.end() ? none : found->second;
    }

    void lead(int64_t index) {
        if (index >= 0 && index < size_) leads_[static_cast<size_t>(index)] = true;
    }

    void mark_leaders() {
        leads_.assign(code_.size(), false);
        lead(0);
        for (const int64_t entry : facts_.entries) lead(index_at(entry));
        for (int64_t index = 0; index < size_; ++index) {
            const Instruction& instruction = code_[static_cast<size_t>(index)];
            if (register_budget(instruction)) lead(index);
            const Branch branch = branch_of(instruction, encoding_);
            if (branch.kind == BranchKind::kNone) continue;
            lead(index + 1);
            if (branch.target) lead(index_at(*branch.target));
            if (branch.kind != BranchKind::kIndirect) continue;
            for (const int64_t target : indirect_targets(instruction.offset)) lead(index_at(target));
        }
    }

    void cut_into_blocks(ControlFlow& flow) const {
        flow.block_of.resize(code_.size());
        for (int64_t index = 0; index < size_; ++index) {
            if (leads_[static_cast<size_t>(index)]) {
                flow.blocks.emplace_back();
                flow.blocks.back().begin = index;
            }
            flow.blocks.back().end = index + 1;
            flow.block_of[static_cast<size_t>(index)] = static_cast<int64_t>(flow.blocks.size()) - 1;
        }
    }

    void connect(ControlFlow& flow) const {
        for (Block& block : flow.blocks) {
            const Instruction& last = code_[static_cast<size_t>(block.end - 1)];
            const Branch branch = branch_of(last, encoding_);
            const auto add = [&](int64_t index) {
                if (index < 0 || index >= size_) return;
                block.successors.push_back(flow.block_of[static_cast<size_t>(index)]);
            };
            const bool goes_on = branch.conditional || branch.kind == BranchKind::kNone;
            if (goes_on || branch.kind == BranchKind::kCall) add(block.end);
            const int64_t target = branch.target ? index_at(*branch.target) : -1;
            if (branch.kind == BranchKind::kJump) add(target);
            if (branch.kind == BranchKind::kCall && target >= 0)
                block.callee = flow.block_of[static_cast<size_t>(target)];
            if (branch.kind == BranchKind::kIndirect) {
                for (const int64_t each : indirect_targets(last.offset)) add(index_at(each));
            }
            std::sort(block.successors.begin(), block.successors.end());
            block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                                   block.successors.end());
        }
    }

    std::vector<int64_t> entry_blocks(const ControlFlow& flow) const {
        std::vector<int64_t> blocks;
        for (const int64_t entry : facts_.entries) {
            const int64_t index = index_at(entry);
            if (index >= 0) blocks.push_back(flow.block_of[static_cast<size_t>(index)]);
        }
        return blocks;
    }

    std::span<const Instruction> code_;
    const CodeFacts& facts_;
    BranchEncoding encoding_;
    int64_t size_;
    std::vector<bool> leads_;
};

}  // namespace

ControlFlow control_flow_of(std::span<const Instruction> code, const CodeFacts& facts, int64_t registers) {
    return Builder(code, facts).build(registers);
}

}  // namespace jali::audit

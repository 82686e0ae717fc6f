#include "audit/kernel_code.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "audit/hot_spots.h"
#include "audit/instruction_mix.h"
#include "audit/load_distance.h"
#include "audit/sass.h"
#include "audit/serialisation.h"
#include "audit/spills.h"

namespace jali::audit {
namespace {

constexpr int64_t kInstructionBytes = 16;

// Bytes of the frame, as ranges apart from each other.
class FrameBytes {
   public:
    // Those of the sites that `is_wanted` and whose slot is known.
    FrameBytes(const std::vector<SpillSite>& sites, const auto& is_wanted) {
        std::vector<std::pair<int64_t, int64_t>> slots;
        for (const SpillSite& site : sites) {
            if (!site.in_shared_memory && site.slot >= 0 && is_wanted(site))
                slots.emplace_back(site.slot, site.slot + site.bytes);
        }
        std::sort(slots.begin(), slots.end());
        for (const auto& [begin, end] : slots) {
            if (!ranges_.empty() && begin <= ranges_.back().second)
                ranges_.back().second = std::max(ranges_.back().second, end);
            else
                ranges_.emplace_back(begin, end);
        }
    }
    bool touches(const SpillSite& site) const {
        const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), site.slot + site.bytes - 1,
                                            [](int64_t last, const auto& range) { return last < range.first; });
        return after != ranges_.begin() && std::prev(after)->second > site.slot;
    }
    int64_t count() const {
        int64_t bytes = 0;
        for (const auto& [begin, end] : ranges_) bytes += end - begin;
        return bytes;
    }

   private:
    std::vector<std::pair<int64_t, int64_t>> ranges_;
};

// Without annotations: what goes by the stack pointer to bytes of the frame that are both stored and loaded so. No
// store of 12,195 annotated ones was without such a load. A local array that is indexed by a register is not among
// them, nor one that is only set by known indices; one that is also read by known indices is.
void find_spills(std::span<const uint8_t> code, Kernel& kernel) {
    std::vector<SpillSite> sites;
    for (int64_t offset = 0; offset + kInstructionBytes <= std::ssize(code); offset += kInstructionBytes) {
        const std::optional<SpillSite> site = spill_at(code, offset);
        if (site && !site->in_shared_memory && site->slot >= 0) sites.push_back(*site);
    }
    const FrameBytes stored(sites, [](const SpillSite& site) { return site.is_store; });
    const FrameBytes loaded(sites, [](const SpillSite& site) { return !site.is_store; });
    for (const SpillSite& site : sites) {
        if (!(site.is_store ? loaded : stored).touches(site)) continue;
        kernel.spill_sites.push_back(site);
        add(kernel.spills, site);
    }
}

// Whether there is local memory that is no spill: accesses that the annotations do not list, or generic ones, which may
// go there.
bool may_hold_arrays(std::span<const Instruction> code, const Kernel& kernel) {
    if (kernel.spill_source == SpillSource::kOpcodes) return true;
    constexpr uint32_t kGenericLoad = 0x180, kGenericStore = 0x185;
    int64_t local = 0;
    for (const Instruction& instruction : code) {
        if (instruction.operation() == kGenericLoad || instruction.operation() == kGenericStore) return true;
        if (instruction.kind == InstructionKind::kLocal) ++local;
    }
    return local != kernel.spills.stores + kernel.spills.loads;
}

// The frame split: spill slots are what the sites name, arrays the rest.
void split_frame(std::span<const Instruction> code, Kernel& kernel) {
    if (!may_hold_arrays(code, kernel)) {
        kernel.spill_frame_bytes = kernel.stack_bytes;
        kernel.array_bytes = 0;
        return;
    }
    const FrameBytes slots(kernel.spill_sites, [](const SpillSite&) { return true; });
    kernel.spill_frame_bytes = std::min(slots.count(), kernel.stack_bytes);
    kernel.array_bytes = kernel.stack_bytes - kernel.spill_frame_bytes;
    // Frames are multiples of 8 bytes.
    if (kernel.array_bytes < 8) {
        kernel.spill_frame_bytes = kernel.spill_sites.empty() ? 0 : kernel.stack_bytes;
        kernel.array_bytes = kernel.stack_bytes - kernel.spill_frame_bytes;
    }
}

void place_spills(const ControlFlow& flow, Kernel& kernel) {
    for (SpillSite& site : kernel.spill_sites) {
        const auto index = static_cast<size_t>(site.offset / kInstructionBytes);
        if (index >= flow.block_of.size()) continue;
        const Block& block = flow.blocks[static_cast<size_t>(flow.block_of[index])];
        site.loop_depth = block.loop_depth;
        site.role = block.role;
        if (site.in_shared_memory) continue;
        add(kernel.spills_weighted, site, depth_weight(site.loop_depth));
        if (site.role >= 0) add(kernel.roles[static_cast<size_t>(site.role)].spills, site);
        for (int64_t loop = block.loop; loop >= 0; loop = flow.outer[static_cast<size_t>(loop)])
            add(kernel.loops[static_cast<size_t>(loop)].spills, site);
    }
}

}  // namespace

CodeFacts code_facts_of(const CodeInfo& info, int64_t begin) {
    constexpr size_t kHeaderWords = 3;
    CodeFacts facts;
    for (const std::span<const uint8_t> bytes : info.indirect_branches) {
        const NvRecord record{.attribute = 0, .value = 0, .bytes = bytes};
        for (size_t at = 0; at + kHeaderWords <= record.words();) {
            const size_t count = record.word(at + 2);
            if (count > record.words() - at - kHeaderWords) break;
            std::vector<int64_t>& targets = facts.indirect_targets[int64_t{record.word(at)} - begin];
            for (size_t i = 0; i < count; ++i) targets.push_back(int64_t{record.word(at + kHeaderWords + i)} - begin);
            at += kHeaderWords + count;
        }
    }
    return facts;
}

void read_code(std::span<const uint8_t> code, const CodeFacts& facts, Kernel& kernel) {
    const std::vector<Instruction> instructions = decode(code, kernel.arch);
    ControlFlow flow = control_flow_of(instructions, facts, kernel.registers);
    kernel.mix = mix_of(instructions);
    kernel.loops = std::move(flow.loops);
    kernel.roles = std::move(flow.roles);
    kernel.global_loads = load_distance_of(instructions, kernel.loops, InstructionKind::kGlobal);
    kernel.shared_loads = load_distance_of(instructions, kernel.loops, InstructionKind::kShared);
    if (kernel.serialisation == Serialisation::kNone && waits_after_every_wgmma(instructions))
        kernel.serialisation = Serialisation::kObserved;
    if (kernel.spill_source == SpillSource::kOpcodes) find_spills(code, kernel);
    split_frame(instructions, kernel);
    place_spills(flow, kernel);
}

}  // namespace jali::audit

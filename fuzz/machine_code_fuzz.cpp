// Any instructions are a kernel's: blocks, loops, roles, spills and distances stay inside of the code. The first byte
// chooses the architecture and the way that spills are told, the second is the count of 32-bit words of a record of
// indirect jumps, which follow; then comes the code.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "audit/control_flow.h"
#include "audit/kernel_code.h"
#include "audit/spills.h"
#include "jali/error.h"

namespace {

void hold(bool condition) {
    if (!condition) std::abort();
}

void check_flow(const jali::audit::ControlFlow& flow, size_t instructions) {
    using namespace jali::audit;
    const auto blocks = static_cast<int64_t>(flow.blocks.size()), roles = static_cast<int64_t>(flow.roles.size());
    hold(flow.block_of.size() == instructions);
    int64_t end = 0;
    for (const Block& block : flow.blocks) {
        hold(block.begin == end && block.end > block.begin);
        hold(block.callee >= -1 && block.callee < blocks && block.role >= -1 && block.role < roles);
        for (const int64_t successor : block.successors) hold(successor >= 0 && successor < blocks);
        end = block.end;
    }
    hold(end == static_cast<int64_t>(instructions));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace jali::audit;
    constexpr const char* kArchs[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120"};
    std::span<const uint8_t> input(data, size);
    if (input.size() < 2) return 0;
    const uint8_t choice = input[0];
    const size_t record_bytes = std::min<size_t>(4 * size_t{input[1]}, input.size() - 2);
    CodeInfo info;
    info.indirect_branches.push_back(input.subspan(2, record_bytes));
    std::span<const uint8_t> code = input.subspan(2 + record_bytes);
    code = code.first(code.size() / 16 * 16);

    Kernel kernel;
    kernel.arch = kArchs[choice % 8];
    kernel.registers = 168;
    kernel.stack_bytes = 64;
    kernel.spill_source = (choice & 8) != 0 ? SpillSource::kOpcodes : SpillSource::kAnnotations;
    if (kernel.spill_source == SpillSource::kAnnotations) {
        for (int64_t offset = 0; offset < static_cast<int64_t>(code.size()); offset += 16) {
            const std::optional<SpillSite> site = spill_at(code, offset);
            if (!site) continue;
            kernel.spill_sites.push_back(*site);
            add(site->in_shared_memory ? kernel.shared_spills : kernel.spills, *site);
        }
    }
    const CodeFacts facts = code_facts_of(info, 0);
    const std::vector<Instruction> instructions = decode(code, kernel.arch);
    check_flow(control_flow_of(instructions, facts, kernel.registers), instructions.size());
    read_code(code, facts, kernel);
    hold(kernel.array_bytes >= 0 && kernel.spill_frame_bytes >= 0);
    hold(kernel.array_bytes + kernel.spill_frame_bytes == kernel.stack_bytes);
    Traffic of_roles;
    for (const Role& role : kernel.roles) of_roles.stores += role.spills.stores;
    hold(of_roles.stores <= kernel.spills.stores);
    for (const Loop& loop : kernel.loops) {
        hold(loop.begin >= 0 && loop.begin < loop.end && loop.end <= static_cast<int64_t>(code.size()));
        hold(loop.spills.stores <= kernel.spills.stores && loop.spills.loads <= kernel.spills.loads);
    }
    return 0;
}

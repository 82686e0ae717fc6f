#include "audit/serialisation.h"

#include <cstdint>
#include <string_view>

namespace jali::audit {
namespace {

constexpr uint64_t kNoGroup = 7;

bool is_wgmma(const Instruction& instruction) {
    const std::string_view name = instruction.mnemonic;
    return name == "HGMMA" || name == "IGMMA" || name == "QGMMA" || name == "BGMMA";
}

bool ends_a_group(const Instruction& wgmma) {
    return bits(wgmma, 84, 3) != kNoGroup;
}

// WARPGROUP.DEPBAR.LE gsb0, 0; WARPGROUP.ARRIVE has the bit clear.
bool waits_for_all_groups(const Instruction& instruction) {
    return instruction.mnemonic == "WARPGROUP" && bits(instruction, 80, 1) != 0 && bits(instruction, 72, 6) == 0;
}

}  // namespace

bool waits_after_every_wgmma(std::span<const Instruction> code) {
    int64_t products = 0;
    bool is_open = false;  // a wgmma that nothing has waited for yet
    for (const Instruction& instruction : code) {
        if (is_wgmma(instruction)) {
            if (is_open || !ends_a_group(instruction)) return false;
            is_open = true;
            ++products;
        } else if (waits_for_all_groups(instruction)) {
            is_open = false;
        }
    }
    return products >= 2 && !is_open;
}

}  // namespace jali::audit

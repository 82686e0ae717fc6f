#include "audit/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace jali::audit {

const std::string& full_name(const Kernel& kernel) {
    return kernel.demangled.empty() ? kernel.name : kernel.demangled;
}

int64_t bytes_of(const Traffic& traffic) {
    return traffic.store_bytes + traffic.load_bytes;
}

std::string budgets_text(const Kernel& kernel) {
    if (kernel.roles.size() < 2) return "-";
    std::string text;
    for (size_t i = 1; i < kernel.roles.size(); ++i) {  // the first is the code before any setmaxnreg
        text += fmt::format("{}{}", text.empty() ? "" : "/", kernel.roles[i].registers);
    }
    return text;
}

std::vector<NamedCount> kinds_of(const InstructionMix& mix) {
    return {{"matrix", mix.matrix},         {"TMA and async copies", mix.async_copies},
            {"MUFU", mix.special},          {"shared", mix.shared},
            {"global", mix.global},         {"local", mix.local},
            {"constant", mix.constant},     {"tensor memory", mix.tensor_memory},
            {"barriers", mix.barriers},     {"branches", mix.branches},
            {"moves", mix.moves},           {"conversions", mix.conversions},
            {"floats", mix.floats},         {"integers", mix.integers},
            {"predicates", mix.predicates}, {"logic", mix.logic},
            {"others", mix.others},         {"unknown", mix.unknown}};
}

std::vector<NamedCount> imad_uses_of(const InstructionMix& mix) {
    return {{"MOV", mix.imad_mov},
            {"SHL", mix.imad_shl},
            {"IADD", mix.imad_iadd},
            {"WIDE", mix.imad_wide},
            {"products", mix.imad}};
}

std::vector<Device> devices_named(const std::vector<std::string>& names) {
    std::vector<Device> named = devices();
    std::erase_if(named, [&](const Device& device) { return std::ranges::find(names, device.name) == names.end(); });
    return named;
}

std::string occupancy_text(const std::optional<Occupancy>& occupancy, const Device& device) {
    constexpr int64_t kThreadsAWarp = 32;
    if (!occupancy) return "-";
    return fmt::format("{}/{} {}", occupancy->warps, device.threads / kThreadsAWarp, occupancy->limit);
}

}  // namespace jali::audit

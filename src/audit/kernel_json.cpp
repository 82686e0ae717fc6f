#include "audit/kernel_json.h"

#include "audit/hot_spots.h"
#include "audit/kernel_text.h"
#include "jali/audit_compare.h"

namespace jali::audit {

namespace {

Json json_of(const Traffic& traffic) {
    return {{"store_bytes", traffic.store_bytes},
            {"load_bytes", traffic.load_bytes},
            {"stores", traffic.stores},
            {"loads", traffic.loads}};
}

// What is not known is null.
Json known(int64_t value) {
    return value < 0 ? Json(nullptr) : Json(value);
}

Json json_of(const SourceLine& line) {
    return {{"file", line.file}, {"line", line.line}, {"function", line.function}};
}

Json json_of(const SpillSite& site) {
    Json json = {{"offset", site.offset},
                 {"kind", site.is_store ? "store" : "load"},
                 {"memory", site.in_shared_memory ? "shared" : "local"},
                 {"bytes", site.bytes},
                 {"slot", known(site.slot)},
                 {"loop_depth", known(site.loop_depth)},
                 {"role", known(site.role)},
                 {"ptx_line", site.ptx_line > 0 ? Json(site.ptx_line) : Json(nullptr)},
                 {"source", Json::array()}};
    for (const SourceLine& line : site.source) json["source"].push_back(json_of(line));
    return json;
}

Json json_of(const Loop& loop) {
    return {{"begin", loop.begin},
            {"end", loop.end},
            {"depth", loop.depth},
            {"innermost", loop.innermost},
            {"instructions", loop.instructions},
            {"branches", loop.branches},
            {"role", known(loop.role)},
            {"spills", json_of(loop.spills)}};
}

Json json_of(const Role& role) {
    return {{"registers", role.registers},
            {"begin", role.begin},
            {"instructions", role.instructions},
            {"spills", json_of(role.spills)}};
}

Json json_of(const LoadDistance& distance) {
    return {{"loads", distance.loads}, {"median", distance.median}, {"under_8", distance.under_8}};
}

Json json_of(const InstructionMix& mix) {
    return {{"total", mix.total},
            {"matrix", mix.matrix},
            {"async_copies", mix.async_copies},
            {"special", mix.special},
            {"shared", mix.shared},
            {"global", mix.global},
            {"local", mix.local},
            {"constant", mix.constant},
            {"tensor_memory", mix.tensor_memory},
            {"barriers", mix.barriers},
            {"branches", mix.branches},
            {"moves", mix.moves},
            {"conversions", mix.conversions},
            {"floats", mix.floats},
            {"integers", mix.integers},
            {"predicates", mix.predicates},
            {"logic", mix.logic},
            {"others", mix.others},
            {"imad_mov", mix.imad_mov},
            {"imad_shl", mix.imad_shl},
            {"imad_iadd", mix.imad_iadd},
            {"imad_wide", mix.imad_wide},
            {"imad", mix.imad},
            {"unknown", mix.unknown}};
}

Json occupancies_of(const Kernel& kernel, const std::vector<std::string>& device_names) {
    Json list = Json::array();
    for (const Device& device : devices_named(device_names)) {
        const std::optional<Occupancy> found = occupancy(kernel, device);
        if (!found) continue;
        list.push_back({{"device", device.name},
                        {"blocks", found->blocks},
                        {"warps", found->warps},
                        {"share", found->share},
                        {"limit", found->limit}});
    }
    return list;
}

}  // namespace

Json json_of(const Kernel& kernel, const std::vector<std::string>& device_names) {
    Json spills = json_of(kernel.spills);
    spills["source"] = name_of(kernel.spill_source);
    Json json = {{"name", kernel.name},
                 {"demangled", kernel.demangled},
                 {"origin", kernel.origin},
                 {"arch", kernel.arch},
                 {"assembler", kernel.assembler},
                 {"options", kernel.options},
                 {"registers", kernel.registers},
                 {"threads_bound", kernel.threads_bound > 0 ? Json(kernel.threads_bound) : Json(nullptr)},
                 {"static_shared_bytes", kernel.static_shared_bytes},
                 {"dynamic_shared_bytes", known(kernel.dynamic_shared_bytes)},
                 {"barriers", kernel.barriers},
                 {"stack_bytes", kernel.stack_bytes},
                 {"array_bytes", kernel.array_bytes},
                 {"spill_frame_bytes", kernel.spill_frame_bytes},
                 {"spills", std::move(spills)},
                 {"spills_weighted", json_of(kernel.spills_weighted)},
                 {"shared_spills", json_of(kernel.shared_spills)},
                 {"serialisation", name_of(kernel.serialisation)},
                 {"notes", kernel.notes},
                 {"instructions", kernel.mix.total},
                 {"loop_weighted_instructions", loop_weighted_instructions(kernel)},
                 {"mix", json_of(kernel.mix)},
                 {"code_bytes", kernel.code_bytes},
                 {"code_sha256", kernel.code_sha256},
                 {"global_loads", json_of(kernel.global_loads)},
                 {"shared_loads", json_of(kernel.shared_loads)},
                 {"loops", Json::array()},
                 {"roles", Json::array()},
                 {"spill_sites", Json::array()}};
    for (const Loop& loop : kernel.loops) json["loops"].push_back(json_of(loop));
    for (const Role& role : kernel.roles) json["roles"].push_back(json_of(role));
    for (const SpillSite& site : kernel.spill_sites) json["spill_sites"].push_back(json_of(site));
    if (!device_names.empty()) json["occupancy"] = occupancies_of(kernel, device_names);
    return json;
}

Json json_of(const Problem& problem) {
    return {{"origin", problem.origin}, {"sentence", problem.sentence}};
}

}  // namespace jali::audit

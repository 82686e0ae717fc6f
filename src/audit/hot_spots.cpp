#include "audit/hot_spots.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "audit/kernel_text.h"

namespace jali::audit {

namespace {

constexpr int64_t kDeepest = 4;

void add(Traffic& traffic, const SpillSite& site, int64_t weight) {
    (site.is_store ? traffic.stores : traffic.loads) += weight;
    (site.is_store ? traffic.store_bytes : traffic.load_bytes) += weight * site.bytes;
}

// A call chain of a corrupted table may be as long as the file.
constexpr size_t kLongestChain = 8;

std::string chain_of(const SpillSite& site) {
    std::string chain;
    for (size_t i = 1; i < site.source.size() && i <= kLongestChain; ++i) {
        const SourceLine& outer = site.source[i];
        chain += fmt::format("{}in {} at {}:{}", chain.empty() ? "" : ", ",
                             outer.function.empty() ? "a function" : outer.function,
                             outer.file.substr(outer.file.find_last_of('/') + 1), outer.line);
    }
    return chain;
}

LineKind kind_of(const SpillSite& site, LineKind prefer) {
    const bool has_source = !site.source.empty(), has_ptx = site.ptx_line > 0;
    if (prefer == LineKind::kOffset || (!has_source && !has_ptx)) return LineKind::kOffset;
    if (prefer == LineKind::kSource) return has_source ? LineKind::kSource : LineKind::kPtx;
    return has_ptx ? LineKind::kPtx : LineKind::kSource;
}

}  // namespace

int64_t depth_weight(int64_t loop_depth) {
    int64_t weight = 1;
    for (int64_t depth = 0; depth < std::min(loop_depth, kDeepest); ++depth) weight *= 10;
    return weight;
}

std::vector<HotSpot> hot_spots(const Kernel& kernel, LineKind prefer) {
    std::map<std::tuple<LineKind, std::string, int64_t>, HotSpot> by_line;
    for (const SpillSite& site : kernel.spill_sites) {
        if (site.in_shared_memory) continue;
        const LineKind kind = kind_of(site, prefer);
        const bool source = kind == LineKind::kSource;
        const std::string& file = source ? site.source.front().file : std::string();
        const int64_t line = source ? site.source.front().line : kind == LineKind::kPtx ? site.ptx_line : site.offset;
        HotSpot& spot = by_line[{kind, file, line}];
        if (spot.spills == Traffic{}) {
            spot.kind = kind;
            spot.file = file;
            spot.line = line;
            if (source) spot.inlined = chain_of(site);
        }
        add(spot.spills, site, 1);
        add(spot.weighted, site, depth_weight(site.loop_depth));
        spot.loop_depth = std::max(spot.loop_depth, site.loop_depth);
        if (site.role >= 0 && std::find(spot.roles.begin(), spot.roles.end(), site.role) == spot.roles.end()) {
            spot.roles.push_back(site.role);
        }
    }
    std::vector<HotSpot> spots;
    spots.reserve(by_line.size());
    for (auto& [key, spot] : by_line) spots.push_back(std::move(spot));
    std::stable_sort(spots.begin(), spots.end(),
                     [](const HotSpot& a, const HotSpot& b) { return bytes_of(a.weighted) > bytes_of(b.weighted); });
    return spots;
}

std::string place_of(const HotSpot& spot) {
    switch (spot.kind) {
        case LineKind::kSource:
            return fmt::format("{}:{}", spot.file.substr(spot.file.find_last_of('/') + 1), spot.line);
        case LineKind::kPtx:
            return fmt::format("ptx {}", spot.line);
        case LineKind::kOffset:
            break;
    }
    return fmt::format("{:#x}", spot.line);
}

std::string roles_of(const HotSpot& spot, const Kernel& kernel) {
    if (kernel.roles.size() < 2) return "";
    std::string text;
    for (const int64_t role : spot.roles) {
        const auto index = static_cast<size_t>(role);
        if (index >= kernel.roles.size()) continue;
        text += fmt::format("{}role {} ({} registers)", text.empty() ? "" : ", ", role, kernel.roles[index].registers);
    }
    return text;
}

}  // namespace jali::audit

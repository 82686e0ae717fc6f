#include "cli/audit/hot_spot_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "audit/kernel_text.h"
#include "audit/visible_text.h"
#include "cli/audit/kernel_table.h"
#include "cli/console.h"

namespace jali::cli {

namespace {

using audit::HotSpot;
using audit::Kernel;
using audit::LineKind;
using audit::Lines;

constexpr int64_t kLinesAround = 1;
constexpr size_t kLineWidth = 110;

std::string bytes_text(const audit::Traffic& traffic) {
    return fmt::format("{}/{}", group_digits(traffic.store_bytes), group_digits(traffic.load_bytes));
}

// The line and those around it, marked.
std::string excerpt(const Lines& lines, int64_t number) {
    std::string text;
    for (int64_t i = std::max<int64_t>(1, number - kLinesAround); i <= number + kLinesAround; ++i) {
        if (i > lines.count()) break;
        text += fmt::format("      {} {:>6}  {}\n", i == number ? '>' : ' ', i,
                            audit::shortened(audit::visible(lines.line(i)), kLineWidth));
    }
    return text;
}

std::string heading_of(const HotSpot& spot, const Kernel& kernel) {
    std::string text = fmt::format("  {}: {} B in {}", audit::visible(place_of(spot)), bytes_text(spot.spills),
                                   plural(spot.spills.stores + spot.spills.loads, "instruction"));
    text += spot.loop_depth < 0 ? ", loop depth unknown" : fmt::format(", loop depth {}", spot.loop_depth);
    const std::string roles = roles_of(spot, kernel);
    if (!roles.empty()) text += ", " + roles;
    if (!spot.inlined.empty()) text += ", " + audit::visible(spot.inlined);
    return text + "\n";
}

}  // namespace

std::string hot_spot_text(const Kernel& kernel, const HotSpotOptions& options, audit::SourceFiles& files) {
    const std::vector<HotSpot> spots = hot_spots(kernel, options.prefer);
    if (spots.empty()) return "";
    std::optional<Lines> ptx;
    if (!kernel.ptx_text.empty()) ptx.emplace(kernel.ptx_text);
    std::string text =
        fmt::format("{} spills {} B at {}, heaviest by loop depth first\n", audit::visible(full_name(kernel)),
                    spill_bytes_text(kernel), plural(static_cast<int64_t>(spots.size()), "place"));
    const size_t shown = std::min(spots.size(), static_cast<size_t>(options.most));
    for (size_t i = 0; i < shown; ++i) {
        text += heading_of(spots[i], kernel);
        if (spots[i].kind == LineKind::kPtx && ptx) text += excerpt(*ptx, spots[i].line);
        if (spots[i].kind != LineKind::kSource) continue;
        if (const Lines* const source = files.find(spots[i].file)) text += excerpt(*source, spots[i].line);
    }
    if (shown < spots.size()) {
        text += fmt::format("  and {} more\n", plural(static_cast<int64_t>(spots.size() - shown), "place"));
    }
    if (spots.front().kind == LineKind::kOffset) {
        text += "  no line tables in the file: offsets into the code; -lineinfo makes them\n";
    }
    return text;
}

}  // namespace jali::cli

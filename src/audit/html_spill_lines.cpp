// Where a kernel spills: lines in the order of their file, with those around them and their heat.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "audit/hot_spots.h"
#include "audit/html_kernel.h"
#include "audit/visible_text.h"

namespace jali::audit {
namespace {

constexpr size_t kMostLines = 40;
constexpr int64_t kLinesAround = 2;
constexpr size_t kLineWidth = 160;

// The spots of one file, and its text where it can be had.
struct Listing {
    std::string title;
    const Lines* lines = nullptr;
    std::vector<HotSpot> spots;
};

std::string title_of(const HotSpot& spot) {
    switch (spot.kind) {
        case LineKind::kSource:
            return spot.file;
        case LineKind::kPtx:
            return "PTX";
        case LineKind::kOffset:
            break;
    }
    return "Bytes of code, of those without a line";
}

std::vector<Listing> listings_of(std::vector<HotSpot> spots, const Lines* ptx, SourceFiles& files) {
    std::vector<Listing> listings;
    for (HotSpot& spot : spots) {
        const std::string title = title_of(spot);
        auto place = std::find_if(listings.begin(), listings.end(),
                                  [&](const Listing& listing) { return listing.title == title; });
        if (place == listings.end()) {
            const Lines* lines = spot.kind == LineKind::kSource ? files.find(spot.file)
                                 : spot.kind == LineKind::kPtx  ? ptx
                                                                : nullptr;
            place = listings.insert(listings.end(), {title, lines, {}});
        }
        place->spots.push_back(std::move(spot));
    }
    for (Listing& listing : listings) {
        if (listing.lines == nullptr) continue;  // heaviest first, as they came
        std::stable_sort(listing.spots.begin(), listing.spots.end(),
                         [](const HotSpot& a, const HotSpot& b) { return a.line < b.line; });
    }
    return listings;
}

void add_text_row(pugi::xml_node body, const std::string& line, std::string_view text) {
    pugi::xml_node row = add(body, "tr", {}, "quiet");
    for (int i = 0; i < 4; ++i) add(row, "td");
    add(row, "td", line);
    add(row, "td", shortened(visible(text), kLineWidth), "code");
}

void add_spot_row(pugi::xml_node body, const HotSpot& spot, const Kernel& kernel, std::string_view text, int64_t most) {
    const double heat = heat_of(bytes_of(spot.weighted), most);
    pugi::xml_node row = add(body, "tr");
    add_heat(add(row, "td", fmt::format("{}", bytes_of(spot.weighted))), heat);
    add(row, "td", pair_text(spot.spills.store_bytes, spot.spills.load_bytes));
    add(row, "td", pair_text(spot.spills.stores, spot.spills.loads));
    add(row, "td", spot.loop_depth < 0 ? "?" : fmt::format("{}", spot.loop_depth));
    add(row, "td", spot.kind == LineKind::kOffset ? fmt::format("{:#x}", spot.line) : fmt::format("{}", spot.line));
    pugi::xml_node code = add(row, "td", shortened(visible(text), kLineWidth), "code");
    if (!text.empty()) add_heat(code, heat);
    std::string where = roles_of(spot, kernel);
    if (!spot.inlined.empty()) where += (where.empty() ? "" : ", ") + spot.inlined;
    add(row, "td", where, "text faint");
}

void add_listing(pugi::xml_node parent, const Listing& listing, const Kernel& kernel, int64_t most) {
    add(parent, "p", listing.title, "mono");
    pugi::xml_node table = add(add(parent, "div", {}, "wide"), "table", {}, "lines");
    pugi::xml_node heading = add(add(table, "thead"), "tr");
    for (const char* text : {"by depth B", "spill B", "spills", "depth", "line", "", ""}) add(heading, "th", text);
    pugi::xml_node body = add(table, "tbody");
    int64_t done = 0;  // the last line shown
    for (size_t i = 0; i < listing.spots.size(); ++i) {
        const HotSpot& spot = listing.spots[i];
        if (listing.lines == nullptr) {
            add_spot_row(body, spot, kernel, "", most);
            continue;
        }
        const Lines& lines = *listing.lines;
        const int64_t begin = std::max<int64_t>(done + 1, spot.line - kLinesAround);
        if (done > 0 && begin > done + 1) add_text_row(body, "", "...");
        for (int64_t line = begin; line < spot.line && line <= lines.count(); ++line)
            add_text_row(body, fmt::format("{}", line), lines.line(line));
        add_spot_row(body, spot, kernel, lines.line(spot.line), most);
        const int64_t next = i + 1 < listing.spots.size() ? listing.spots[i + 1].line : spot.line + kLinesAround + 1;
        done = spot.line;
        while (done < std::min({spot.line + kLinesAround, next - 1, lines.count()})) {
            ++done;
            add_text_row(body, fmt::format("{}", done), lines.line(done));
        }
    }
}

void add_spots(pugi::xml_node parent, const Kernel& kernel, LineKind prefer, const Lines* ptx, SourceFiles& files) {
    std::vector<HotSpot> spots = hot_spots(kernel, prefer);
    if (spots.empty()) return;
    const size_t all = spots.size();
    const int64_t most = bytes_of(spots.front().weighted);
    spots.resize(std::min(all, kMostLines));
    if (spots.size() < all)
        add(parent, "p", fmt::format("The {} of {} places with the most bytes by loop depth.", spots.size(), all),
            "faint");
    for (const Listing& listing : listings_of(std::move(spots), ptx, files)) add_listing(parent, listing, kernel, most);
}

}  // namespace

void add_spill_lines(pugi::xml_node parent, const Kernel& kernel, SourceFiles& files) {
    if (kernel.spill_sites.empty()) return;
    add(parent, "h3", "Where it spills");
    std::optional<Lines> ptx;
    if (!kernel.ptx_text.empty()) ptx.emplace(kernel.ptx_text);
    const auto has_source = [](const SpillSite& site) { return !site.source.empty(); };
    const auto has_ptx = [](const SpillSite& site) { return site.ptx_line > 0; };
    add_spots(parent, kernel, LineKind::kSource, ptx ? &*ptx : nullptr, files);
    const auto& sites = kernel.spill_sites;
    if (ptx && std::any_of(sites.begin(), sites.end(), has_source) &&
        std::any_of(sites.begin(), sites.end(), has_ptx)) {
        pugi::xml_node block = add(parent, "details");
        add(block, "summary", "The same by lines of its PTX");
        add_spots(block, kernel, LineKind::kPtx, &*ptx, files);
    }
}

}  // namespace jali::audit

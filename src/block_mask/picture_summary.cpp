#include "block_mask/picture_summary.h"

#include <fmt/format.h>

#include <vector>

#include "block_mask/coverage.h"

namespace jali {

PictureSummary summarize(const BlockMask& mask, int64_t b, int64_t h) {
    PictureSummary summary;
    summary.q_len = mask.q_len();
    summary.kv_len = mask.kv_len();
    const HeadView view = mask.head(b, h);
    for (size_t tile = 0; tile < view.q_tiles.size(); ++tile) {
        for (const Run& run : view.row(static_cast<int64_t>(tile))) {
            (run.stencil == kFull ? summary.tiles.full : summary.tiles.partial) += run.tiles;
        }
    }
    const auto tile_pairs = static_cast<int64_t>(view.q_tiles.size() * view.kv_tiles.size());
    summary.tiles.empty = tile_pairs - summary.tiles.full - summary.tiles.partial;
    if (tile_pairs > 0) {
        const std::vector<int64_t> q_cuts{0, summary.q_len}, kv_cuts{0, summary.kv_len};
        summary.kept_pairs = count_pairs(mask, b, h, q_cuts, kv_cuts).front().kept;
    }
    return summary;
}

std::string grouped(int64_t number) {
    std::string digits = fmt::format("{}", number);
    for (size_t end = digits.size(); end > (number < 0 ? 4U : 3U); end -= 3) digits.insert(end - 3, 1, ',');
    return digits;
}

std::string counted(int64_t number, std::string_view singular, std::string_view plural) {
    return fmt::format("{} {}", grouped(number), number == 1 ? singular : plural);
}

std::string percentage(int64_t kept, int64_t pairs) {
    if (kept == 0) return "0%";
    if (kept == pairs) return "100%";
    const double percent = 100.0 * static_cast<double>(kept) / static_cast<double>(pairs);
    if (percent < 0.01) return "less than 0.01%";
    if (percent > 99.99) return "more than 99.99%";
    return fmt::format("{:.2f}%", percent);
}

}  // namespace jali

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "block_mask/coverage.h"
#include "block_mask/picture_summary.h"
#include "jali/picture.h"

namespace jali {
namespace {

constexpr int64_t kWidest = 1000;  // characters

// Light to dark, for shares below a third, below two thirds, and the rest.
constexpr std::array<const char*, 3> kShades{"░", "▒", "▓"};

const char* character(int64_t kept, int64_t pairs) {
    if (kept == 0) return " ";
    if (kept == pairs) return "█";
    return kShades[static_cast<size_t>(3 * static_cast<double>(kept) / static_cast<double>(pairs))];
}

int64_t divide_up(int64_t x, int64_t y) {
    return (x + y - 1) / y;
}

std::string repeat(const char* text, int64_t times) {
    std::string repeated;
    for (int64_t i = 0; i < times; ++i) repeated += text;
    return repeated;
}

}  // namespace

std::string terminal_picture(const BlockMask& mask, const PictureOptions& options) {
    const PictureSummary summary = summarize(mask, options.b, options.h);
    const int64_t pairs = summary.q_len * summary.kv_len;
    std::string picture = options.title.empty() ? "" : options.title + "\n";
    picture += fmt::format("{} x {}: {} kept ({}); {} full, {} partial, {} empty tiles\n",
                           counted(summary.q_len, "query", "queries"), counted(summary.kv_len, "key", "keys"),
                           counted(summary.kept_pairs, "pair", "pairs"), percentage(summary.kept_pairs, pairs),
                           grouped(summary.tiles.full), grouped(summary.tiles.partial), grouped(summary.tiles.empty));
    if (pairs == 0) return picture;

    // A character is about twice as high as wide.
    const int64_t widest = std::clamp<int64_t>(options.columns, 1, kWidest);
    const int64_t keys = divide_up(summary.kv_len, widest);
    const int64_t queries = std::min(summary.q_len, std::max(2 * keys, divide_up(summary.q_len, widest)));
    const std::vector<int64_t> q_cuts = cuts_every(queries, summary.q_len), kv_cuts = cuts_every(keys, summary.kv_len);
    const std::vector<CellPairs> cells = count_pairs(mask, options.b, options.h, q_cuts, kv_cuts);
    const size_t across = kv_cuts.size() - 1;

    picture += fmt::format("one character: {} (down) x {} (across)\n", counted(queries, "query", "queries"),
                           counted(keys, "key", "keys"));
    picture += fmt::format("┌{}┐\n", repeat("─", static_cast<int64_t>(across)));
    for (size_t i = 0; i + 1 < q_cuts.size(); ++i) {
        picture += "│";
        for (size_t j = 0; j < across; ++j) {
            const int64_t cell_pairs = (q_cuts[i + 1] - q_cuts[i]) * (kv_cuts[j + 1] - kv_cuts[j]);
            picture += character(cells[i * across + j].kept, cell_pairs);
        }
        picture += "│\n";
    }
    return picture + fmt::format("└{}┘\n", repeat("─", static_cast<int64_t>(across)));
}

}  // namespace jali

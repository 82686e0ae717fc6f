#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "block_mask/picture_cells.h"
#include "block_mask/picture_summary.h"
#include "block_mask/svg_text.h"
#include "jali/picture.h"

namespace jali {
namespace {

// Lengths are in SVG's user units (CSS pixels).
constexpr double kPlotSide = 512;     // the longer side of the plot
constexpr double kShortestSide = 24;  // of a mask with few queries or few keys
constexpr double kLeft = 68, kRight = 22;
constexpr double kAboveAxis = 44;    // room for the key axis
constexpr double kNarrowest = 460;   // of the whole picture, for the words
constexpr double kClosestLines = 5;  // grid lines nearer than this on average are left out
constexpr double kTileLines = 10;    // tiles at least as large show their edges
constexpr double kTitleSize = 14, kTextSize = 11, kTickSize = 10;
constexpr size_t kTitleLines = 4;
constexpr size_t kLargestPicture = 250'000;  // bytes of path data; coarser cells are drawn instead
constexpr int64_t kCoarsest = 64;            // cells a side, which always fit

// Blue and orange differ for every kind of colour vision, and in grey by their lightness.
constexpr std::array<std::string_view, kShades> kColours{"#f3f3f0", "#fdf0d5", "#fbd38a", "#f5b041",
                                                         "#ea9417", "#d97706", "#1f5a94"};

struct Axis {
    int64_t length = 0;
    double pixels = 0;

    double pixel(int64_t position) const {
        return length == 0 ? 0 : pixels * static_cast<double>(position) / static_cast<double>(length);
    }
    // Coordinates of path data: the position itself where it is short, or tenths of a pixel.
    bool short_positions() const { return length < 10'000; }
    int64_t coordinate(int64_t position) const {
        return short_positions() ? position : std::llround(10 * pixel(position));
    }
    double scale() const { return short_positions() ? pixels / static_cast<double>(length) : 0.1; }
};

// A step that gives four to eight intervals: a power of two where it divides the length, else 1, 2 or 5 times a power
// of ten.
int64_t tick_step(int64_t length) {
    for (int64_t step = 1; step <= length / 4; step *= 2) {
        if (length % step == 0 && length / step <= 8 && step >= 64) return step;
    }
    for (int64_t decade = 1;; decade *= 10) {
        for (const int64_t step : {decade, 2 * decade, 5 * decade}) {
            if (length / step <= 8) return step;
        }
    }
}

std::vector<int64_t> ticks(const Axis& axis) {
    if (axis.pixels < 60) return axis.length > 1 ? std::vector<int64_t>{0, axis.length} : std::vector<int64_t>{0};
    std::vector<int64_t> positions;
    for (int64_t position = 0; position <= axis.length; position += tick_step(axis.length)) {
        positions.push_back(position);
    }
    return positions;
}

struct Layout {
    Axis queries, keys;
};

std::string line(double x1, double y1, double x2, double y2) {
    return fmt::format("M{} {}L{} {}", svg_number(x1), svg_number(y1), svg_number(x2), svg_number(y2));
}

Axis make_axis(int64_t length, int64_t longer) {
    if (longer == 0) return {length, 4 * kShortestSide};
    const double share = static_cast<double>(length) / static_cast<double>(longer);
    return {length, std::max(kShortestSide, std::round(kPlotSide * share))};
}

// The cells as one path a shade.
std::string draw_cells(const PictureCells& cells, const Axis& queries, const Axis& keys) {
    std::vector<int64_t> ys, xs;
    for (const int64_t cut : cells.q_cuts) ys.push_back(queries.coordinate(cut));
    for (const int64_t cut : cells.kv_cuts) xs.push_back(keys.coordinate(cut));
    std::string drawing =
        fmt::format("<g transform=\"scale({:.8g} {:.8g})\" fill-rule=\"evenodd\" shape-rendering=\"crispEdges\">\n",
                    keys.scale(), queries.scale());
    std::vector<uint8_t> inside(cells.shades.size());
    for (int shade = static_cast<int>(Shade::kNone); shade < kShades; ++shade) {
        // A shade is painted under the darker ones of partial tiles too, and the lightest under full tiles.
        const auto covers = [&](Shade cell) {
            if (cell == Shade::kFullTiles) return shade == static_cast<int>(Shade::kFullTiles) || shade == 1;
            return static_cast<int>(cell) >= shade;
        };
        std::transform(cells.shades.begin(), cells.shades.end(), inside.begin(),
                       [&](Shade cell) { return static_cast<uint8_t>(covers(cell)); });
        const std::string path = outline(inside, ys, xs);
        if (!path.empty()) {
            drawing += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", kColours[static_cast<size_t>(shade)], path);
        }
    }
    return drawing + "</g>\n";
}

struct Drawing {
    PictureCells cells;
    std::string paths;
};

Drawing draw_within_size(const BlockMask& mask, const PictureOptions& options, const Axis& queries, const Axis& keys) {
    for (double share = 1;; share *= 0.75) {
        const auto most = [&](const Axis& axis) {
            return std::max(kCoarsest, static_cast<int64_t>(axis.pixels * share));
        };
        Drawing drawing{picture_cells(mask, options.b, options.h, most(queries), most(keys)), {}};
        drawing.paths = draw_cells(drawing.cells, queries, keys);
        if (drawing.paths.size() <= kLargestPicture || most(queries) + most(keys) == 2 * kCoarsest) return drawing;
    }
}

// Where one document ends and the next begins: after a tile that is not whole.
std::vector<int64_t> boundaries(std::span<const Tile> tiles) {
    std::vector<int64_t> positions;
    for (size_t i = 0; i + 1 < tiles.size(); ++i) {
        if (tiles[i].rows < kTileRows) positions.push_back(tiles[i + 1].begin);
    }
    return positions;
}

std::vector<int64_t> tile_edges(std::span<const Tile> tiles) {
    std::vector<int64_t> positions;
    for (size_t i = 1; i < tiles.size(); ++i) positions.push_back(tiles[i].begin);
    return positions;
}

std::string grid_path(const Layout& layout, std::span<const int64_t> rows, std::span<const int64_t> columns,
                      double closest) {
    std::string path;
    if (static_cast<double>(rows.size() + 1) * closest <= layout.queries.pixels) {
        for (const int64_t row : rows) {
            const double y = layout.queries.pixel(row);
            path += line(0, y, layout.keys.pixels, y);
        }
    }
    if (static_cast<double>(columns.size() + 1) * closest <= layout.keys.pixels) {
        for (const int64_t column : columns) {
            const double x = layout.keys.pixel(column);
            path += line(x, 0, x, layout.queries.pixels);
        }
    }
    return path;
}

struct GridLines {
    std::string markup;
    bool boundaries_drawn = false;
};

GridLines draw_grid(const BlockMask& mask, const PictureOptions& options, const Layout& layout) {
    const HeadView view = mask.head(options.b, options.h);
    GridLines lines;
    const std::string edges = grid_path(layout, tile_edges(view.q_tiles), tile_edges(view.kv_tiles), kTileLines);
    if (!edges.empty()) {
        lines.markup += fmt::format(
            "<path d=\"{}\" fill=\"none\" stroke=\"#ffffff\" stroke-opacity=\"0.55\" stroke-width=\"0.6\"/>\n", edges);
    }
    if (mask.aligned()) return lines;
    const std::string documents = grid_path(layout, boundaries(view.q_tiles), boundaries(view.kv_tiles), kClosestLines);
    if (!documents.empty()) {
        lines.markup += fmt::format(
            "<path d=\"{}\" fill=\"none\" stroke=\"#333333\" stroke-opacity=\"0.55\" stroke-width=\"0.5\"/>\n",
            documents);
        lines.boundaries_drawn = true;
    }
    return lines;
}

std::string draw_axes(const Layout& layout) {
    std::string markup, marks;
    for (const int64_t position : ticks(layout.keys)) {
        const double x = layout.keys.pixel(position);
        marks += line(x, -4, x, 0);
        markup += svg_text(x, -7, {kTickSize, "middle"}, grouped(position));
    }
    for (const int64_t position : ticks(layout.queries)) {
        const double y = layout.queries.pixel(position);
        marks += line(-4, y, 0, y);
        markup += svg_text(-7, y + 0.35 * kTickSize, {kTickSize, "end"}, grouped(position));
    }
    markup += fmt::format("<path d=\"{}\" stroke=\"#333333\" stroke-width=\"0.8\"/>\n", marks);
    markup += svg_text(layout.keys.pixels / 2, -22, {kTextSize, "middle"}, "key position (tokens)");
    const double middle = layout.queries.pixels / 2;
    markup += svg_text(-54, middle,
                       {kTextSize, "middle", fmt::format(" transform=\"rotate(-90 -54 {})\"", svg_number(middle))},
                       layout.queries.pixels < 120 ? "query" : "query position (tokens)");
    return markup;
}

std::string swatch(double x, double y, std::string_view colour) {
    return fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"11\" height=\"11\" fill=\"{}\" stroke=\"#777777\" "
        "stroke-width=\"0.4\"/>\n",
        svg_number(x), svg_number(y), colour);
}

// What a colour stands for depends on whether a cell has one fate or holds several tile pairs.
std::string draw_legend(double y, bool merged, const TileCounts& tiles) {
    const auto colour = [](Shade shade) { return kColours[static_cast<size_t>(shade)]; };
    const auto with_count = [&](std::string_view fate, int64_t count) {
        return merged ? std::string(fate) : fmt::format("{} ({})", fate, grouped(count));
    };
    const double baseline = y + 9.5;
    std::string markup = swatch(0, y, colour(Shade::kFullTiles));
    markup += svg_text(16, baseline, {kTextSize}, with_count(merged ? "all kept" : "full tiles", tiles.full));
    double x = 130;
    for (const Shade shade : {Shade::kNone, Shade::kLow, Shade::kMiddle, Shade::kHigh, Shade::kAll}) {
        markup += swatch(x, y, colour(shade));
        x += 11;
    }
    markup +=
        svg_text(x + 5, baseline, {kTextSize}, with_count(merged ? "partly kept" : "partial tiles", tiles.partial));
    x = 320;
    markup += swatch(x, y, colour(Shade::kEmpty));
    markup += svg_text(x + 16, baseline, {kTextSize}, with_count(merged ? "none kept" : "empty tiles", tiles.empty));
    return markup;
}

std::vector<std::string> caption(const PictureCells& cells, bool boundaries_drawn) {
    std::vector<std::string> lines;
    if (cells.largest_q == 1 && cells.largest_kv == 1) {
        lines.emplace_back("Every pair is drawn; those of partial tiles are dark where they are kept.");
    } else {
        const std::string size = fmt::format("{} × {}", counted(cells.largest_q, "query", "queries"),
                                             counted(cells.largest_kv, "key", "keys"));
        lines.push_back(
            cells.merged
                ? fmt::format("Each cell is up to {} and shaded by the share of its pairs that is kept:", size)
                : fmt::format("Each cell is up to {}, shaded in partial tiles by the share of its pairs that is kept:",
                              size));
        lines.emplace_back(cells.merged ? "blue only where all are, grey only where none is."
                                        : "darkest only where all are, palest only where none is.");
    }
    if (boundaries_drawn) lines.emplace_back("Dark lines: the edges of the mask at which its tiles are anchored.");
    return lines;
}

std::vector<std::string> numbers(const BlockMask& mask, const PictureOptions& options, const PictureSummary& summary) {
    const TileCounts& tiles = summary.tiles;
    const int64_t visited = tiles.full + tiles.partial;
    std::string size =
        fmt::format("{} × {}", counted(summary.q_len, "query", "queries"), counted(summary.kv_len, "key", "keys"));
    if (mask.batch() > 1 || mask.heads() > 1) size += fmt::format(", batch {}, head {}", options.b, options.h);
    return {
        fmt::format("{}: {} kept ({})", size, counted(summary.kept_pairs, "pair", "pairs"),
                    percentage(summary.kept_pairs, summary.q_len * summary.kv_len)),
        fmt::format("{} of {} visited; {}", grouped(visited), counted(visited + tiles.empty, "tile pair", "tile pairs"),
                    counted(static_cast<int64_t>(mask.stencils().size()), "stencil", "stencils"))};
}

// The plot, with its own upper left corner as the origin.
struct Plot {
    std::string markup;
    std::vector<std::string> caption;
    bool merged = false;
};

Plot draw_plot(const BlockMask& mask, const PictureOptions& options, const Layout& layout) {
    Plot plot;
    const std::string frame = fmt::format("<rect width=\"{}\" height=\"{}\"", svg_number(layout.keys.pixels),
                                          svg_number(layout.queries.pixels));
    plot.markup = fmt::format("{} fill=\"{}\"/>\n", frame, kColours[static_cast<size_t>(Shade::kEmpty)]);
    if (mask.q_len() > 0 && mask.kv_len() > 0) {
        const Drawing drawing = draw_within_size(mask, options, layout.queries, layout.keys);
        const GridLines lines = draw_grid(mask, options, layout);
        plot.markup += drawing.paths + lines.markup;
        plot.caption = caption(drawing.cells, lines.boundaries_drawn);
        plot.merged = drawing.cells.merged;
    } else {
        plot.caption.emplace_back("There is no pair to draw.");
    }
    plot.markup += frame + " fill=\"none\" stroke=\"#333333\" stroke-width=\"0.8\"/>\n" + draw_axes(layout);
    return plot;
}

std::string translated(double x, double y, std::string_view markup) {
    return fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", svg_number(x), svg_number(y), markup);
}

}  // namespace

std::string svg_picture(const BlockMask& mask, const PictureOptions& options) {
    const PictureSummary summary = summarize(mask, options.b, options.h);
    const int64_t longer = std::max(summary.q_len, summary.kv_len);
    const Layout layout{make_axis(summary.q_len, longer), make_axis(summary.kv_len, longer)};
    const double width = std::max(kNarrowest, kLeft + layout.keys.pixels + kRight);

    std::string body;
    double y = 12;
    const auto characters = static_cast<size_t>((width - kLeft - kRight) / (0.56 * kTitleSize));
    for (const std::string& title : wrap(options.title, characters, kTitleLines)) {
        y += 1.3 * kTitleSize;
        body += svg_text(kLeft, y, {kTitleSize, "start", " font-weight=\"bold\""}, title);
    }
    const std::vector<std::string> facts = numbers(mask, options, summary);
    for (const std::string& fact : facts) {
        y += 1.4 * kTextSize;
        body += svg_text(kLeft, y, {kTextSize}, fact);
    }
    y += kAboveAxis;
    const Plot plot = draw_plot(mask, options, layout);
    body += translated(kLeft, y, plot.markup);
    y += layout.queries.pixels + 14;
    body += translated(kLeft, y, draw_legend(0, plot.merged, summary.tiles));
    y += 14;
    for (const std::string& remark : plot.caption) {
        y += 1.4 * kTickSize;
        body += svg_text(kLeft, y, {kTickSize, "start", " fill=\"#555555\""}, remark);
    }
    const std::string size = fmt::format("width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\"", svg_number(width),
                                         svg_number(std::ceil(y + 12)));
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {} font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" "
        "fill=\"#222222\">\n<title>{}</title>\n<desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"#ffffff\"/>\n{}</svg>\n",
        size, xml_text(options.title.empty() ? "Block mask" : options.title),
        xml_text(fmt::format("{}. {}.", facts[0], facts[1])), body);
}

}  // namespace jali

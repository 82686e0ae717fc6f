#include "jali/picture.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <regex>
#include <sstream>

#include "block_mask/parts_from_bits.h"
#include "block_mask/picture_cells.h"
#include "block_mask/picture_summary.h"
#include "block_mask/random_masks.h"

namespace jali {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// The characters of a text of UTF-8.
std::vector<std::string> characters_of(const std::string& text) {
    std::vector<std::string> characters;
    for (const char byte : text) {
        if ((byte & 0xC0) != 0x80) characters.emplace_back();
        characters.back() += byte;
    }
    return characters;
}

struct Counts {
    int64_t kept = 0, pairs = 0;
};

Counts count(const test::Keep& keep, int64_t h, std::array<int64_t, 2> queries, std::array<int64_t, 2> keys) {
    Counts counts;
    for (int64_t q = queries[0]; q < queries[1]; ++q) {
        for (int64_t kv = keys[0]; kv < keys[1]; ++kv) {
            ++counts.pairs;
            counts.kept += keep(0, h, q, kv) ? 1 : 0;
        }
    }
    return counts;
}

std::string expected_character(const Counts& counts) {
    if (counts.kept == 0) return " ";
    if (counts.kept == counts.pairs) return "█";
    if (3 * counts.kept < counts.pairs) return "░";
    return 3 * counts.kept < 2 * counts.pairs ? "▒" : "▓";
}

BlockMask causal_mask(int64_t q_len, int64_t kv_len) {
    return test::mask_from_bits({test::aligned_tiles(q_len), test::aligned_tiles(kv_len)},
                                [](int64_t, int64_t, int64_t q, int64_t kv) { return q >= kv; });
}

// Causal, of any length, without counting pairs.
BlockMask long_causal_mask(int32_t tiles) {
    BlockMask::Parts parts;
    parts.q_len = parts.kv_len = int64_t{tiles} * kTileRows;
    parts.grids.push_back({test::aligned_tiles(parts.q_len), test::aligned_tiles(parts.kv_len)});
    Stencil& stencil = parts.stencils.emplace_back();
    for (int32_t row = 0; row < kTileRows; ++row) {
        for (int32_t column = 0; column <= row; ++column) {
            stencil.words[static_cast<size_t>(2 * row + column / 64)] |= uint64_t{1} << (column % 64);
        }
    }
    std::vector<int64_t>& offsets = parts.row_offsets.emplace_back(1, 0);
    std::vector<Run>& runs = parts.runs.emplace_back();
    for (int32_t tile = 0; tile < tiles; ++tile) {
        if (tile > 0) runs.push_back({0, tile, kFull});
        runs.push_back({tile, 1, 0});
        offsets.push_back(static_cast<int64_t>(runs.size()));
    }
    return BlockMask::assemble(std::move(parts));
}

TEST(TerminalPicture, ASmallMaskPairByPair) {
    const std::string picture = terminal_picture(causal_mask(4, 5), {.title = "causal"});
    EXPECT_EQ(picture,
              "causal\n"
              "4 queries x 5 keys: 10 pairs kept (50.00%); 0 full, 1 partial, 0 empty tiles\n"
              "one character: 2 queries (down) x 1 key (across)\n"
              "┌─────┐\n"
              "│█▒   │\n"
              "│███▒ │\n"
              "└─────┘\n");
}

TEST(TerminalPicture, EveryCharacterEqualsCountingItsPairs) {
    std::mt19937_64 random = test::fresh_random();
    const std::regex cell_line("one character: ([0-9]+) quer(y|ies) \\(down\\) x ([0-9]+) keys? \\(across\\)");
    for (int round = 0; round < 20; ++round) {
        const test::RandomMask random_mask = test::random_mask(random);
        const int64_t h = test::pick(random, 0, 1);
        const auto columns = static_cast<int>(test::pick(random, 1, 100));
        const auto lines = lines_of(terminal_picture(random_mask.mask, {.h = h, .columns = columns}));
        std::smatch sizes;
        ASSERT_TRUE(std::regex_match(lines.at(1), sizes, cell_line)) << lines[1];
        const int64_t down = std::stoll(sizes[1]), across = std::stoll(sizes[3]);
        const int64_t q_len = random_mask.mask.q_len(), kv_len = random_mask.mask.kv_len();
        ASSERT_EQ(static_cast<int64_t>(lines.size()), 4 + (q_len + down - 1) / down);
        for (int64_t i = 0; i * down < q_len; ++i) {
            const auto row = characters_of(lines[static_cast<size_t>(3 + i)]);
            const int64_t cells = (kv_len + across - 1) / across;
            ASSERT_LE(cells, columns);
            ASSERT_EQ(static_cast<int64_t>(row.size()), 2 + cells);
            for (int64_t j = 0; j < cells; ++j) {
                const Counts counts = count(random_mask.keep, h, {i * down, std::min(q_len, (i + 1) * down)},
                                            {j * across, std::min(kv_len, (j + 1) * across)});
                ASSERT_EQ(row[static_cast<size_t>(1 + j)], expected_character(counts)) << i << ", " << j;
            }
        }
    }
}

TEST(TerminalPicture, OnePairOfAMillionTokensShows) {
    constexpr int64_t kLength = int64_t{1} << 20;
    BlockMask::Parts parts;
    parts.q_len = parts.kv_len = kLength;
    parts.grids.push_back({test::aligned_tiles(kLength), test::aligned_tiles(kLength)});
    parts.stencils.emplace_back().words[0] = 1;
    parts.row_offsets.emplace_back(static_cast<size_t>(kLength / kTileRows + 1), 1)[0] = 0;
    parts.runs.push_back({{0, 1, 0}});
    const std::string picture = terminal_picture(BlockMask::assemble(std::move(parts)));
    EXPECT_THAT(picture, HasSubstr("1 pair kept (less than 0.01%)"));
    EXPECT_THAT(picture, HasSubstr("│░ "));
}

TEST(TerminalPicture, NoPairsNoFrame) {
    EXPECT_EQ(terminal_picture(causal_mask(0, 7)),
              "0 queries x 7 keys: 0 pairs kept (0%); 0 full, 0 partial, 0 empty tiles\n");
}

TEST(Pictures, OfAMillionTokensTakeWellUnderASecond) {
    const BlockMask mask = long_causal_mask(8192);
    const std::clock_t start = std::clock();  // of this process: other work must not count
    EXPECT_THAT(terminal_picture(mask), HasSubstr("549,756,338,176 pairs kept (50.00%)"));
    EXPECT_LT(svg_picture(mask).size(), 300'000U);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 1);
}

TEST(PictureNumbers, AreNeverRoundedToNoneOrAll) {
    EXPECT_EQ(percentage(0, 10), "0%");
    EXPECT_EQ(percentage(0, 0), "0%");
    EXPECT_EQ(percentage(10, 10), "100%");
    EXPECT_EQ(percentage(1, 1'000'000), "less than 0.01%");
    EXPECT_EQ(percentage(999'999, 1'000'000), "more than 99.99%");
    EXPECT_EQ(percentage(1, 3), "33.33%");
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
}

Shade expected_shade(const Counts& counts, Shade whole) {
    if (counts.kept == 0) return whole == Shade::kEmpty ? Shade::kEmpty : Shade::kNone;
    if (counts.kept == counts.pairs) return whole;
    if (3 * counts.kept < counts.pairs) return Shade::kLow;
    return 3 * counts.kept < 2 * counts.pairs ? Shade::kMiddle : Shade::kHigh;
}

// What a whole cell of the tile pair at (q, kv) would be.
Shade fate_at(const BlockMask& mask, int64_t h, int64_t q, int64_t kv) {
    const HeadView head = mask.head(0, h);
    const auto tile_of = [](std::span<const Tile> tiles, int64_t position) {
        size_t tile = 0;
        while (position >= tiles[tile].begin + tiles[tile].rows) ++tile;
        return static_cast<int64_t>(tile);
    };
    const int64_t kv_tile = tile_of(head.kv_tiles, kv);
    for (const Run& run : head.row(tile_of(head.q_tiles, q))) {
        if (kv_tile >= run.first_tile && kv_tile < run.first_tile + run.tiles) {
            return run.stencil == kFull ? Shade::kFullTiles : Shade::kAll;
        }
    }
    return Shade::kEmpty;
}

TEST(PictureCells, EachLieInOneTilePairAndHaveItsShade) {
    std::mt19937_64 random = test::fresh_random();
    for (int round = 0; round < 20; ++round) {
        const test::RandomMask random_mask = test::random_mask(random);
        const BlockMask& mask = random_mask.mask;
        const int64_t h = test::pick(random, 0, 1);
        const int64_t most = test::pick(random, 16, 300);
        const PictureCells cells = picture_cells(mask, 0, h, most, most);
        ASSERT_FALSE(cells.merged);
        ASSERT_LE(cells.down(), static_cast<size_t>(most));
        ASSERT_LE(cells.across(), static_cast<size_t>(most));
        for (size_t i = 0; i < cells.down(); ++i) {
            for (size_t j = 0; j < cells.across(); ++j) {
                const Counts counts = count(random_mask.keep, h, {cells.q_cuts[i], cells.q_cuts[i + 1]},
                                            {cells.kv_cuts[j], cells.kv_cuts[j + 1]});
                const Shade first = fate_at(mask, h, cells.q_cuts[i], cells.kv_cuts[j]);
                ASSERT_EQ(first, fate_at(mask, h, cells.q_cuts[i + 1] - 1, cells.kv_cuts[j + 1] - 1));
                ASSERT_EQ(cells.shades[i * cells.across() + j], expected_shade(counts, first)) << i << ", " << j;
            }
        }
    }
}

TEST(PictureCells, ShadesChangeAtThirds) {
    for (int64_t kept = 0; kept <= 16; ++kept) {
        const BlockMask mask =
            test::mask_from_bits({test::aligned_tiles(128), test::aligned_tiles(128)},
                                 [kept](int64_t, int64_t, int64_t, int64_t kv) { return kv % 16 < kept || kv >= 112; });
        const Shade shade = picture_cells(mask, 0, 0, 8, 8).shades.front();  // of 16 x 16 pairs
        const bool is_full = kept == 16;
        EXPECT_EQ(shade, kept == 0    ? Shade::kNone
                         : kept <= 5  ? Shade::kLow
                         : kept <= 10 ? Shade::kMiddle
                         : is_full    ? Shade::kFullTiles
                                      : Shade::kHigh)
            << kept;
    }
}

TEST(PictureCells, MergedOnesAreBlankOnlyWithoutPairsAndBlueOnlyWithAll) {
    std::mt19937_64 random = test::fresh_random();
    for (int round = 0; round < 20; ++round) {
        const test::RandomMask random_mask = test::random_mask(random);
        const PictureCells cells = picture_cells(random_mask.mask, 0, 1, 2, 3);
        ASSERT_LE(cells.down(), 2U);
        ASSERT_LE(cells.across(), 3U);
        for (size_t i = 0; i < cells.down(); ++i) {
            for (size_t j = 0; j < cells.across(); ++j) {
                const Counts counts = count(random_mask.keep, 1, {cells.q_cuts[i], cells.q_cuts[i + 1]},
                                            {cells.kv_cuts[j], cells.kv_cuts[j + 1]});
                const Shade shade = cells.shades[i * cells.across() + j];
                ASSERT_EQ(shade <= Shade::kNone, counts.kept == 0);
                ASSERT_EQ(shade >= Shade::kAll, counts.kept == counts.pairs);
            }
        }
    }
}

// The cells inside path data of M, H, V and z under the rule evenodd: a point is inside where an odd number of
// vertical edges lie to its left.
std::vector<uint8_t> rasterized(const std::string& path, int64_t down, int64_t across) {
    std::vector<uint8_t> inside(static_cast<size_t>(down * across));
    int64_t x = 0, y = 0, start_x = 0, start_y = 0;
    const auto vertical = [&](int64_t to) {
        for (int64_t i = std::min(y, to); i < std::max(y, to); ++i) {
            for (int64_t j = x; j < across; ++j) inside[static_cast<size_t>(i * across + j)] ^= 1;
        }
        y = to;
    };
    std::istringstream stream(path);
    for (char command = 0; stream >> command;) {
        if (command == 'M') {
            stream >> x >> y;
            start_x = x;
            start_y = y;
        } else if (command == 'H') {
            stream >> x;
        } else if (command == 'V') {
            int64_t to = 0;
            stream >> to;
            vertical(to);
        } else {
            EXPECT_EQ(command, 'z');
            EXPECT_TRUE(x == start_x || y == start_y) << "the closing line is neither horizontal nor vertical";
            if (x == start_x) vertical(start_y);
            x = start_x;
        }
    }
    return inside;
}

TEST(Outline, EnclosesExactlyTheMarkedCells) {
    std::mt19937_64 random = test::fresh_random();
    for (int round = 0; round < 200; ++round) {
        const int64_t down = test::pick(random, 1, 12), across = test::pick(random, 1, 12);
        const int64_t sparseness = test::pick(random, 1, 5);
        std::vector<uint8_t> inside(static_cast<size_t>(down * across));
        for (uint8_t& cell : inside) cell = test::pick(random, 0, sparseness) == 0 ? 1 : 0;
        std::vector<int64_t> ys(static_cast<size_t>(down + 1)), xs(static_cast<size_t>(across + 1));
        std::iota(ys.begin(), ys.end(), 0);
        std::iota(xs.begin(), xs.end(), 0);
        ASSERT_EQ(rasterized(outline(inside, ys, xs), down, across), inside);
    }
}

TEST(Outline, IsShort) {
    const std::vector<int64_t> ys{0, 10, 30}, xs{0, 5, 7};
    EXPECT_EQ(outline(std::vector<uint8_t>{1, 1, 1, 1}, ys, xs), "M0 0H7V30H0z");
    EXPECT_EQ(outline(std::vector<uint8_t>{0, 1, 0, 0}, ys, xs), "M5 0H7V10H5z");
    EXPECT_EQ(outline(std::vector<uint8_t>{0, 0, 0, 0}, ys, xs), "");
}

struct Tag {
    std::string text;    // between < and >
    std::string before;  // character data since the last tag
};

std::vector<Tag> tags_of(const std::string& document) {
    std::vector<Tag> tags;
    for (size_t position = 0;;) {
        const size_t begin = document.find('<', position);
        if (begin == std::string::npos) return tags;
        const size_t end = document.find('>', begin);
        if (end == std::string::npos) {
            ADD_FAILURE() << "a tag does not end: " << document.substr(begin, 80);
            return tags;
        }
        tags.push_back({document.substr(begin + 1, end - begin - 1), document.substr(position, begin - position)});
        position = end + 1;
    }
}

std::string attribute(const Tag& tag, const std::string& name) {
    const size_t at = tag.text.find(" " + name + "=\"");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 3;
    return tag.text.substr(begin, tag.text.find('"', begin) - begin);
}

// Whether tags close in order, attributes are quoted and nothing stands that must be escaped: as much of XML as the
// picture uses.
void expect_well_formed(const std::string& document) {
    std::vector<Tag> tags = tags_of(document);
    ASSERT_FALSE(tags.empty());
    ASSERT_EQ(tags[0].text, "?xml version=\"1.0\" encoding=\"UTF-8\"?");
    std::vector<std::string> open;
    for (size_t i = 1; i < tags.size(); ++i) {
        const Tag& tag = tags[i];
        ASSERT_EQ(tag.before.find('>'), std::string::npos) << tag.before;
        for (size_t at = tag.before.find('&'); at != std::string::npos; at = tag.before.find('&', at + 1)) {
            const std::string entity = tag.before.substr(at, tag.before.find(';', at) + 1 - at);
            ASSERT_THAT(entity, testing::AnyOf("&amp;", "&lt;", "&gt;", "&quot;", "&apos;"));
        }
        ASSERT_EQ(std::count(tag.text.begin(), tag.text.end(), '"') % 2, 0) << tag.text.substr(0, 80);
        const std::string name = tag.text.substr(0, tag.text.find(' '));
        if (name[0] == '/') {
            ASSERT_FALSE(open.empty());
            ASSERT_EQ("/" + open.back(), name);
            open.pop_back();
        } else if (tag.text.back() != '/') {
            open.push_back(name);
        }
    }
    EXPECT_THAT(open, IsEmpty());
    EXPECT_EQ(document.substr(document.size() - 7), "</svg>\n");
}

TEST(SvgPicture, DrawsEveryPairOfASmallMask) {
    const std::vector<int32_t> documents{300, 40};
    const test::Keep keep = [](int64_t, int64_t, int64_t q, int64_t kv) { return (q < 300) == (kv < 300) && q >= kv; };
    const Grid grid{test::document_tiles(documents), test::document_tiles(documents)};
    const BlockMask mask = test::mask_from_bits(grid, keep);
    const std::string picture = svg_picture(mask);
    expect_well_formed(picture);
    EXPECT_THAT(picture, HasSubstr("Every pair is drawn"));
    std::vector<std::string> colours(340 * 340, "none");
    for (const Tag& tag : tags_of(picture)) {
        const std::string colour = attribute(tag, "fill");
        if (tag.text.rfind("path ", 0) != 0 || colour.rfind('#', 0) != 0) continue;
        const std::vector<uint8_t> inside = rasterized(attribute(tag, "d"), 340, 340);
        for (size_t i = 0; i < inside.size(); ++i) {
            if (inside[i] != 0) colours[i] = colour;
        }
    }
    for (int64_t q = 0; q < 340; ++q) {
        for (int64_t kv = 0; kv < 340; ++kv) {
            const Shade fate = fate_at(mask, 0, q, kv);
            const std::string expected = fate == Shade::kEmpty ? "none"
                                         : !keep(0, 0, q, kv)  ? "#fdf0d5"
                                         : fate == Shade::kAll ? "#d97706"
                                                               : "#1f5a94";
            ASSERT_EQ(colours[static_cast<size_t>(q * 340 + kv)], expected) << q << ", " << kv;
        }
    }
}

TEST(SvgPicture, CarriesTheNumbersTheAxesAndTheLegend) {
    const std::string picture = svg_picture(causal_mask(1024, 1024), {.title = "causal"});
    expect_well_formed(picture);
    for (const char* text :
         {">causal<", ">1,024 queries × 1,024 keys: 524,800 pairs kept (50.05%)<",
          ">36 of 64 tile pairs visited; 1 stencil<", ">key position (tokens)<", ">query position (tokens)<", ">384<",
          ">1,024<", ">full tiles (28)<", ">partial tiles (8)<", ">empty tiles (28)<",
          ">Each cell is up to 2 queries × 2 keys, shaded in partial tiles by the share of its pairs that is kept:<"}) {
        EXPECT_THAT(picture, HasSubstr(text));
    }
    EXPECT_THAT(picture, testing::Not(HasSubstr("anchored")));
}

TEST(SvgPicture, SaysWhenItIsMergedAndWhenItIsAnchored) {
    const std::string large = svg_picture(long_causal_mask(2048));
    EXPECT_THAT(large, HasSubstr("Each cell is up to 512 queries × 512 keys"));
    EXPECT_THAT(large, HasSubstr(">partly kept<"));
    const std::vector<int32_t> documents{200, 100};
    const Grid grid{test::document_tiles(documents), test::document_tiles(documents)};
    const test::Keep keep = [](int64_t, int64_t, int64_t q, int64_t kv) { return (q < 200) == (kv < 200); };
    EXPECT_THAT(svg_picture(test::mask_from_bits(grid, keep)), HasSubstr("Dark lines"));
}

TEST(SvgPicture, EscapesTitles) {
    const std::string title = "a < b && c > \"d\" 'e' </svg> \x01 \xff \xed\xa0\x80 \xe2\x89\xa4";
    const std::string picture = svg_picture(causal_mask(10, 10), {.title = title});
    expect_well_formed(picture);
    const std::string replaced = "\xEF\xBF\xBD";
    EXPECT_THAT(picture, HasSubstr("<title>a &lt; b &amp;&amp; c &gt; &quot;d&quot; &apos;e&apos; &lt;/svg&gt; " +
                                   replaced + " " + replaced + " " + replaced + replaced + replaced + " ≤</title>"));
}

TEST(SvgPicture, NamesTheHeadItShows) {
    const test::Keep keep = [](int64_t b, int64_t h, int64_t q, int64_t kv) { return q >= kv + b + h; };
    const BlockMask mask = test::mask_from_bits({test::aligned_tiles(9), test::aligned_tiles(9)}, keep, 2, 3);
    EXPECT_THAT(svg_picture(mask, {.b = 1, .h = 2}), HasSubstr("9 queries × 9 keys, batch 1, head 2: 21 pairs kept"));
}

TEST(SvgPicture, StaysSmallForMasksWithoutOrder) {
    const test::Keep keep = [](int64_t, int64_t, int64_t q, int64_t kv) {
        return (static_cast<uint64_t>(q * 7919 + kv) * 0x9E3779B97F4A7C15U >> 60) == 0;
    };
    const BlockMask mask = test::mask_from_bits({test::aligned_tiles(700), test::aligned_tiles(900)}, keep);
    const std::string picture = svg_picture(mask);
    expect_well_formed(picture);
    EXPECT_LT(picture.size(), 300'000U);
}

TEST(SvgPicture, OfEveryShapeIsWellFormed) {
    for (const auto& [q_len, kv_len] : {std::pair{0, 0}, {0, 9}, {1, 1}, {1, 1000}, {1000, 1}, {3, 700}}) {
        expect_well_formed(svg_picture(causal_mask(q_len, kv_len)));
    }
}

}  // namespace
}  // namespace jali

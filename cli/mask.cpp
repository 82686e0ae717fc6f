// jali mask: builds a block mask, says what it is, and writes it in the forms that are asked for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/dense_rows.h"
#include "cli/json_output.h"
#include "cli/mask_source.h"
#include "cli/numbers.h"
#include "cli/output_files.h"
#include "cli/sha256.h"
#include "io/atomic_file.h"
#include "io/visible_text.h"
#include "jali/error.h"
#include "jali/mask_file.h"
#include "jali/picture.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  jali mask "q >= kv" --q-len 4096
      How many pairs a causal mask keeps, its tiles, and what its block mask costs.
  jali mask "doc[q] == doc[kv] and q >= kv" --q-len 10 --table doc=lengths:4,3,3 --picture
      Three packed documents, causal inside each, as a picture.
  jali mask "0 <= q - kv < w" --q-len 2000 --scalar w=300 --svg window.svg --save window.jmask
      A sliding window, as a picture for a paper and as a block mask for jali run.
  jali mask "keep[q, kv]" --q-len 512 --kv-len 640 --table keep=keep.npy --json
      Any boolean matrix; the numbers as JSON (docs/command.md lists the members).
  jali mask --spec masks.json --name window --dense bits.npy --sha256
      An entry of a JSON file: every bit written to an array, and a hash of all of them.
  jali mask --spec masks.json --json
      Every entry of the file, as a JSON list.
)";

struct Options {
    MaskOptions mask;
    std::string svg_file, save_file, dense_file;
    std::string shown = "0,0";  // the batch and head of pictures
    bool shown_given = false;
    bool picture = false, sha256 = false, json = false;
};

// What is said about one mask.
struct Report {
    const MaskSource& source;
    const BlockMask& mask;
    BuildStatistics cost;
    MaskStatistics counts;  // over the whole batch x heads
    std::string sha256;     // empty where it was not asked for
};

Json json_of(const TileCounts& tiles) {
    return {{"full", tiles.full}, {"partial", tiles.partial}, {"empty", tiles.empty}};
}

Json json_of(const Report& report) {
    const Domain& domain = report.source.domain;
    Json json = {
        {"name", report.source.name},
        {"text", text_of(report.source)},
        {"q_len", domain.q_len},
        {"kv_len", domain.kv_len},
        {"batch", domain.batch},
        {"heads", domain.heads},
        {"mask_batch", report.mask.batch()},
        {"mask_heads", report.mask.heads()},
        {"pairs", report.counts.useful_pairs},
        {"empty_rows", report.counts.empty_rows},
        {"empty_columns", report.counts.empty_columns},
        {"aligned_tiles", json_of(report.counts.aligned_tiles)},
        {"tiles", json_of(report.counts.tiles)},
        {"computed_pairs", report.counts.computed_pairs},
        {"grid", report.mask.aligned() ? "aligned" : "anchored"},
        {"stencils", report.counts.stencils},
        {"runs", report.counts.runs},
        {"bytes", report.counts.bytes},
        {"build_milliseconds", report.cost.milliseconds},
        {"interval_decisions", report.cost.interval_decisions},
        {"evaluated_pairs", report.cost.evaluated_pairs},
    };
    if (!report.sha256.empty()) json["sha256"] = report.sha256;
    return json;
}

std::string tiles_text(const TileCounts& tiles) {
    return fmt::format("{} full, {} partial, {} empty", group_digits(tiles.full), group_digits(tiles.partial),
                       group_digits(tiles.empty));
}

PictureOptions picture_of(const Report& report, const Options& options) {
    const std::vector<int64_t> shown = parse_integers("--picture-of", options.shown);
    const Domain& domain = report.source.domain;
    if (shown.size() != 2 || shown[0] < 0 || shown[0] >= domain.batch || shown[1] < 0 || shown[1] >= domain.heads) {
        throw Error(fmt::format("--picture-of is '{}' but must be B,H with B below {} and H below {}", options.shown,
                                domain.batch, domain.heads));
    }
    PictureOptions picture{.b = shown[0], .h = shown[1], .title = io::visible(report.source.name)};
    if (report.mask.batch() * report.mask.heads() > 1) {
        picture.title += fmt::format(", batch {}, head {}", picture.b, picture.h);
    }
    return picture;
}

std::string text_of(const Report& report, const Options& options) {
    const Domain& domain = report.source.domain;
    const MaskStatistics& counts = report.counts;
    const double every_pair = static_cast<double>(domain.batch) * static_cast<double>(domain.heads) *
                              static_cast<double>(domain.q_len) * static_cast<double>(domain.kv_len);
    Rows rows;
    if (report.source.predicate && text_of(report.source) != report.source.name) {
        rows.add("predicate", text_of(report.source));
    }
    rows.add("queries x keys", fmt::format("{} x {}", group_digits(domain.q_len), group_digits(domain.kv_len)));
    rows.add("batch x heads",
             fmt::format("{} x {}{}", group_digits(domain.batch), group_digits(domain.heads),
                         report.mask.batch() * report.mask.heads() < domain.batch * domain.heads
                             ? fmt::format(" (stored {} x {})", report.mask.batch(), report.mask.heads())
                             : ""));
    rows.add("kept pairs", fmt::format("{}  ({} of all)", group_digits(counts.useful_pairs),
                                       format_percent(static_cast<double>(counts.useful_pairs), every_pair)));
    rows.add("computed pairs", fmt::format("{}  ({} of them kept)", group_digits(counts.computed_pairs),
                                           format_percent(static_cast<double>(counts.useful_pairs),
                                                          static_cast<double>(counts.computed_pairs))));
    rows.add("empty rows, columns",
             fmt::format("{}, {}", group_digits(counts.empty_rows), group_digits(counts.empty_columns)));
    rows.add("tiles, aligned grid", tiles_text(counts.aligned_tiles));
    if (!report.mask.aligned()) rows.add("tiles, anchored grid", tiles_text(counts.tiles));
    rows.add("grid", report.mask.aligned() ? "aligned" : "anchored");
    rows.add("block mask", fmt::format("{}, {}, {}", format_bytes(counts.bytes), plural(counts.stencils, "stencil"),
                                       plural(counts.runs, "run")));
    if (report.source.predicate) {
        rows.add("built in", fmt::format("{}  ({} by interval arithmetic, {} evaluated)",
                                         format_milliseconds(report.cost.milliseconds),
                                         plural(report.cost.interval_decisions, "decision"),
                                         plural(report.cost.evaluated_pairs, "pair")));
    }
    if (!report.sha256.empty()) rows.add("sha256", report.sha256);
    std::string text = io::visible(report.source.name) + "\n" + rows.text();
    if (options.picture) {
        PictureOptions picture = picture_of(report, options);
        if (report.mask.batch() * report.mask.heads() == 1) picture.title = "";  // the name stands above already
        text += "\n" + terminal_picture(report.mask, picture);
    }
    return text;
}

// Files are for one mask, those of a list would overwrite each other; and they must be writable before work begins.
void check_outputs(const Options& options, size_t masks) {
    for (const auto& [option, file] :
         {std::pair{"--svg", options.svg_file}, {"--save", options.save_file}, {"--dense", options.dense_file}}) {
        if (file.empty()) continue;
        require_writable(file);
        if (masks != 1) {
            throw Error(fmt::format("{} writes one mask but {} has {}; choose one with --name", option,
                                    options.mask.spec_file, plural(static_cast<int64_t>(masks), "mask")));
        }
    }
}

Report report_on(const Options& options, const MaskSource& source, const BuiltMask& built) {
    const BlockMask& mask = built.mask;
    const Domain& domain = source.domain;
    Report report{source, mask, built.cost, statistics(mask, domain.batch, domain.heads), ""};
    if (!options.save_file.empty()) save_mask(mask, options.save_file);
    if (!options.svg_file.empty()) io::write_file(options.svg_file, svg_picture(mask, picture_of(report, options)));
    if (!options.dense_file.empty()) write_dense(mask, domain, options.dense_file);
    if (options.sha256) report.sha256 = sha256_of(mask, domain);
    return report;
}

// The arrays of --dense hold a byte a pair: refused before any work where the disk has no room for them.
void check_dense_room(const Options& options, const Domain& domain) {
    if (options.dense_file.empty()) return;
    const double bytes = static_cast<double>(domain.batch) * static_cast<double>(domain.heads) *
                         static_cast<double>(domain.q_len) * static_cast<double>(domain.kv_len);
    std::error_code unknown;
    const std::filesystem::path folder = std::filesystem::absolute(options.dense_file).parent_path();
    const std::filesystem::space_info room = std::filesystem::space(folder, unknown);
    if (unknown || bytes <= static_cast<double>(room.available)) return;
    const std::string needed = bytes < 0x1p62 ? format_bytes(static_cast<int64_t>(bytes)) : "more than 2^62 bytes";
    throw Error(fmt::format("--dense needs {} for {} x {} x {} x {} bytes but the disk of '{}' has {} left", needed,
                            domain.batch, domain.heads, domain.q_len, domain.kv_len, options.dense_file,
                            format_bytes(static_cast<int64_t>(room.available))));
}

void check_picture_options(const Options& options) {
    if (options.shown_given && !options.picture && options.svg_file.empty()) {
        throw Error("--picture-of has no effect without --picture or --svg");
    }
}

int run(const Options& options) {
    check_picture_options(options);
    const MaskSources sources = read_masks(options.mask);
    check_outputs(options, sources.masks.size());
    check_dense_room(options, sources.masks.front().domain);
    Json list = Json::array();
    for (const MaskSource& source : sources.masks) {
        try {
            const BuiltMask built = build(source, options.mask);
            const Report report = report_on(options, source, built);
            if (options.json) {
                list.push_back(json_of(report));
            } else {
                print((&source == &sources.masks.front() ? "" : "\n") + text_of(report, options));
            }
        } catch (const Error& error) {
            if (!sources.list) throw;
            throw Error(fmt::format("mask '{}': {}", source.name, error.what()));
        }
    }
    if (options.json) print_document(sources.list ? list : list.front());
    return kFine;
}

}  // namespace

void add_mask_command(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("mask", "Build a block mask: its numbers, pictures and files");
    add_mask_options(command, options->mask);
    const std::string group = "Output";
    command.add_flag("--picture", options->picture, "Show it in the terminal")->group(group);
    command.add_option("--picture-of", options->shown, "The batch and head that pictures show")
        ->type_name("B,H")
        ->default_str(options->shown)
        ->group(group);
    command.add_option("--svg", options->svg_file, "Write a picture for a paper")->type_name("FILE")->group(group);
    command.add_option("--save", options->save_file, "Write the block mask")->type_name("FILE.jmask")->group(group);
    command.add_option("--dense", options->dense_file, "Write every bit as a boolean array (batch, heads, q, kv)")
        ->type_name("FILE.npy")
        ->group(group);
    command
        .add_flag("--sha256", options->sha256, "Hash every bit: one byte 0 or 1 a pair, row-major over (b, h, q, kv)")
        ->group(group);
    command.add_flag("--json", options->json, "Print JSON instead of a table")->group(group)->excludes("--picture");
    command.footer(kExamples);
    command.callback([options, &command, &chosen] {
        options->shown_given = command.count("--picture-of") > 0;
        chosen = [options] { return run(*options); };
    });
}

}  // namespace jali::cli

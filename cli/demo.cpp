// jali demo: packed documents, from the predicate to checked gradients.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/demo_check.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/numbers.h"
#include "cli/output_files.h"
#include "cli/packed_documents.h"
#include "cli/progress.h"
#include "cli/stopwatch.h"
#include "cli/work_size.h"
#include "io/atomic_file.h"
#include "jali/error.h"
#include "jali/mask_file.h"
#include "jali/picture.h"
#include "jali/predicate_text.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples =
    R"(The mask of 18 documents packed into 32,768 tokens, causal within each, 16 heads of dimension 128 in bf16: built, shown,
used forward and backward on this machine's processor, and checked against float64. Takes less than a minute on two cores.

Examples:
  jali demo
      Everything on the terminal; the files go to jali-demo/.
  jali demo --out results
      The picture (documents.svg) and the block mask (documents.jmask) go to results/.
  jali demo --json
      The numbers for a program.
)";

constexpr IntegerRange kSeeds{0, std::numeric_limits<int64_t>::max()};
constexpr int kBuilds = 5;

struct Options {
    std::string out = "jali-demo";
    std::optional<int64_t> seed, threads;
    bool json = false;
};

// One grid's mask, and the least time of several builds.
struct Candidate {
    BlockMask mask;
    MaskStatistics counts;
    double build_milliseconds = 0;
};

Candidate build_on(GridChoice grid, const Predicate& keep, int64_t tokens) {
    BuildStatistics cost;
    const BuildOptions options{.domain = {.q_len = tokens, .kv_len = tokens}, .grid = grid};
    BlockMask mask = build_block_mask(keep, options, &cost);
    double least = cost.milliseconds;
    for (int i = 1; i < kBuilds; ++i) {
        build_block_mask(keep, options, &cost);
        least = std::min(least, cost.milliseconds);
    }
    MaskStatistics counts = statistics(mask);
    return {std::move(mask), counts, least};
}

struct Attention {
    double forward_milliseconds = 0, backward_milliseconds = 0;
    double forward_tflops = 0, backward_tflops = 0;  // useful pairs alone
    int64_t peak_bytes = 0;
    int64_t tensor_bytes = 0;
};

Attention attend(const DemoTensors& tensors, const Candidate& chosen, const AttentionOptions& options) {
    const int64_t tokens = chosen.mask.q_len();
    const AttentionShape shape{1, kDemoHeads, kDemoHeads, tokens, tokens, kDemoHeadDim, kDemoHeadDim, kDemoDType};
    const int64_t pairs = chosen.counts.useful_pairs * kDemoHeads;
    Attention attention;
    {
        const Progress progress("attention forward");
        attention.forward_milliseconds =
            milliseconds_of([&] { attention_forward(tensors.forward(), chosen.mask, options); });
    }
    {
        const Progress progress("attention backward");
        attention.backward_milliseconds =
            milliseconds_of([&] { attention_backward(tensors.backward(), chosen.mask, options); });
    }
    attention.forward_tflops = forward_flops(shape, pairs) / attention.forward_milliseconds / 1e9;
    attention.backward_tflops = backward_flops(shape, pairs) / attention.backward_milliseconds / 1e9;
    attention.peak_bytes = peak_memory_bytes();
    attention.tensor_bytes = backward_bytes(shape);
    return attention;
}

struct Demo {
    Predicate keep;
    int64_t documents, tokens;
    uint64_t seed;
    int threads;
    Candidate aligned, anchored;
    Attention attention;
    std::vector<SampledDocument> samples;
    std::vector<TensorVerdict> tensors;
    std::filesystem::path picture_file, mask_file;

    const Candidate& chosen() const {
        return anchored.counts.computed_pairs < aligned.counts.computed_pairs ? anchored : aligned;
    }
    bool passed() const {
        return std::all_of(tensors.begin(), tensors.end(), [](const TensorVerdict& tensor) { return tensor.passed; });
    }
};

std::string mask_table(const Demo& demo) {
    const int64_t whole_tiles =
        demo.aligned.counts.tiles.full + demo.aligned.counts.tiles.partial + demo.aligned.counts.tiles.empty;
    const int64_t every_pair = demo.tokens * demo.tokens;
    const auto row = [&](const char* name, const Candidate& candidate) {
        const MaskStatistics& counts = candidate.counts;
        return std::vector<std::string>{
            name,
            group_digits(counts.tiles.full + counts.tiles.partial),
            group_digits(counts.computed_pairs),
            format_percent(static_cast<double>(counts.useful_pairs), static_cast<double>(counts.computed_pairs)),
            format_bytes(counts.bytes),
            format_milliseconds(candidate.build_milliseconds)};
    };
    Columns columns({"block mask", "tiles visited", "pairs computed", "of them kept", "bytes", "built in"});
    columns.add(row("aligned grid", demo.aligned));
    columns.add(row("anchored grid", demo.anchored));
    columns.add({"no block mask", group_digits(whole_tiles), group_digits(every_pair),
                 format_percent(static_cast<double>(demo.aligned.counts.useful_pairs), static_cast<double>(every_pair)),
                 format_bytes(every_pair), "-"});
    return columns.text();
}

std::string attention_table(const Demo& demo) {
    const Attention& attention = demo.attention;
    Columns columns({"attention", "time", "useful TFLOP/s"});
    columns.add({"forward", format_milliseconds(attention.forward_milliseconds),
                 fmt::format("{:.3f}", attention.forward_tflops)});
    columns.add({"backward", format_milliseconds(attention.backward_milliseconds),
                 fmt::format("{:.3f}", attention.backward_tflops)});
    Rows rows;
    rows.add("engine", fmt::format("{}, {}", describe_engine("cpu"), plural(demo.threads, "thread")));
    rows.add("peak memory", fmt::format("{}, of which the tensors are {}", format_bytes(attention.peak_bytes),
                                        format_bytes(attention.tensor_bytes)));
    rows.add("a dense mask alone", fmt::format("{} (one byte a pair)", format_bytes(demo.tokens * demo.tokens)));
    rows.add("its scores alone", fmt::format("{} (fp32, {})", format_bytes(4 * kDemoHeads * demo.tokens * demo.tokens),
                                             plural(kDemoHeads, "head")));
    return columns.text() + "\n" + rows.text();
}

std::string check_table(const Demo& demo) {
    Columns columns({"against float64", "rows", "largest error", "allowed there", "rms / plain bf16", ""});
    for (const TensorVerdict& tensor : demo.tensors) {
        columns.add({tensor.name, group_digits(tensor.rows), fmt::format("{:.1e}", tensor.error),
                     fmt::format("{:.1e}", tensor.allowed), fmt::format("{:.2f}", tensor.rms_ratio),
                     tensor.passed ? "ok" : "FAILED"});
    }
    std::string text = columns.text();
    for (const SampledDocument& sample : demo.samples) {
        if (sample.result.passed()) continue;
        text += fmt::format("  tokens {} to {} of head {}: {}\n", sample.begin, sample.begin + sample.length - 1,
                            sample.head, sample.result.failure());
    }
    return text;
}

void print_opening(const Demo& demo) {
    print(fmt::format("{} documents packed into {} tokens, causal within each: {}\n\n{}\n", demo.documents,
                      group_digits(demo.tokens), to_text(demo.keep), terminal_picture(demo.chosen().mask)));
    print(mask_table(demo) + "\n");
}

void print_ending(const Demo& demo) {
    print(attention_table(demo) + "\n" + check_table(demo));
    print(
        fmt::format("\n{}: all rows of {} documents, each of another head, drawn with seed {}.\n"
                    "Picture in {}, block mask in {}.\n",
                    demo.passed() ? "Passed" : "FAILED", demo.samples.size(), demo.seed, demo.picture_file.string(),
                    demo.mask_file.string()));
}

Json json_of(const Candidate& candidate) {
    return {{"tiles_visited", candidate.counts.tiles.full + candidate.counts.tiles.partial},
            {"computed_pairs", candidate.counts.computed_pairs},
            {"bytes", candidate.counts.bytes},
            {"build_milliseconds", candidate.build_milliseconds}};
}

void print_json(const Demo& demo) {
    Json json = {{"documents", demo.documents},
                 {"tokens", demo.tokens},
                 {"heads", kDemoHeads},
                 {"head_dim", kDemoHeadDim},
                 {"dtype", name_of(kDemoDType)},
                 {"threads", demo.threads},
                 {"seed", demo.seed},
                 {"pairs", demo.aligned.counts.useful_pairs},
                 {"aligned", json_of(demo.aligned)},
                 {"anchored", json_of(demo.anchored)},
                 {"forward_milliseconds", demo.attention.forward_milliseconds},
                 {"backward_milliseconds", demo.attention.backward_milliseconds},
                 {"forward_useful_tflops", demo.attention.forward_tflops},
                 {"backward_useful_tflops", demo.attention.backward_tflops},
                 {"peak_memory_bytes", demo.attention.peak_bytes},
                 {"dense_mask_bytes", demo.tokens * demo.tokens},
                 {"dense_score_bytes", 4 * kDemoHeads * demo.tokens * demo.tokens},
                 {"passed", demo.passed()},
                 {"tensors", Json::array()}};
    for (const TensorVerdict& tensor : demo.tensors) {
        json["tensors"].push_back({{"name", tensor.name},
                                   {"rows", tensor.rows},
                                   {"error", tensor.error},
                                   {"allowed", tensor.allowed},
                                   {"rms_ratio", tensor.rms_ratio},
                                   {"passed", tensor.passed}});
    }
    json["picture"] = demo.picture_file.string();
    json["mask"] = demo.mask_file.string();
    print_document(json);
}

void make_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw FileError(fmt::format("cannot make the folder '{}': {}", folder.string(), error.message()));
}

int run(const Options& options) {
    const std::vector<int64_t>& lengths = document_lengths();
    const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    const std::filesystem::path folder = options.out;
    make_folder(folder);
    const Predicate keep = packed_documents(lengths);
    Demo demo{.keep = keep,
              .documents = static_cast<int64_t>(lengths.size()),
              .tokens = tokens,
              .seed = options.seed ? static_cast<uint64_t>(*options.seed) : std::random_device()(),
              .threads = most_threads(options.threads),
              .aligned = build_on(GridChoice::kAligned, keep, tokens),
              .anchored = build_on(GridChoice::kAnchored, keep, tokens),
              .attention = {},
              .samples = {},
              .tensors = {},
              .picture_file = folder / "documents.svg",
              .mask_file = folder / "documents.jmask"};
    require_writable(demo.picture_file);
    require_writable(demo.mask_file);
    require_memory(backward_bytes({1, kDemoHeads, kDemoHeads, tokens, tokens, kDemoHeadDim, kDemoHeadDim, kDemoDType}));
    io::write_file(demo.picture_file, svg_picture(demo.chosen().mask, {.title = "Packed documents, causal"}));
    save_mask(demo.chosen().mask, demo.mask_file);
    if (!options.json) print_opening(demo);

    const DemoTensors tensors = [&] {
        const Progress progress("drawing tensors");
        return draw_demo_tensors(tokens, demo.seed);
    }();
    demo.attention = attend(tensors, demo.chosen(), {.threads = demo.threads});
    demo.samples = check_sampled_documents(tensors, lengths, demo.seed, demo.threads);
    demo.tensors = verdicts(demo.samples);
    options.json ? print_json(demo) : print_ending(demo);
    return demo.passed() ? kFine : kCheckFailed;
}

}  // namespace

void add_demo_command(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("demo", "18 packed documents: mask, picture, attention, proof");
    command.add_option("--out", options->out, "The folder for the picture and the block mask")
        ->type_name("DIR")
        ->default_str(options->out);
    add_integer(command, "--threads", options->threads, {1, 4096}, "Threads (default: all)");
    add_integer(command, "--seed", options->seed, kSeeds, "The seed of tensors and samples (default: a fresh one)");
    command.add_flag("--json", options->json, "Print JSON instead of tables");
    command.footer(kExamples);
    command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace jali::cli

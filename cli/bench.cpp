// jali bench: how fast an engine is under a mask.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/machine.h"
#include "cli/mask_source.h"
#include "cli/numbers.h"
#include "cli/progress.h"
#include "cli/random_tensor.h"
#include "cli/shape_options.h"
#include "cli/stopwatch.h"
#include "io/visible_text.h"
#include "jali/attention.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples =
    R"(Speed counts useful pairs only, those that the mask keeps: 4 D operations a pair forward, 10 D backward. The peak beside
it is measured at the same moment: single-precision multiply-adds on registers alone, in as many threads.

Examples:
  jali bench "q >= kv" --q-len 4096 --heads 16
      Causal attention forward and backward, 16 heads of dimension 128 in bf16.
  jali bench "doc[q] == doc[kv] and q >= kv" --q-len 8192 --table doc=lengths:3000,2200,2992 --heads 16 --kv-heads 4
      Packed documents, four query heads to each key head.
  jali bench --spec masks.json --name window --heads 8 --head-dim 64 --dtype fp32 --threads 1 --json
      An entry of a JSON file, one thread, as JSON.
)";

constexpr IntegerRange kRepeats{1, 1000};

struct Options {
    MaskOptions mask;
    EngineOptions engine;
    ShapeOptions shape;
    int64_t repeat = 5;
    bool forward_only = false, json = false;
};

struct Tensors {
    OwnedTensor q, k, v, out, lse, dout, dq, dk, dv;
};

Tensors make_tensors(const AttentionShape& shape, bool forward_only) {
    require_memory(forward_only ? forward_bytes(shape) : backward_bytes(shape));
    const auto make = [&](int64_t heads, int64_t length, int64_t dimension) {
        return OwnedTensor(shape.dtype, {shape.batch, heads, length, dimension});
    };
    Tensors tensors;
    tensors.q = make(shape.heads, shape.q_len, shape.head_dim);
    tensors.k = make(shape.kv_heads, shape.kv_len, shape.head_dim);
    tensors.v = make(shape.kv_heads, shape.kv_len, shape.v_head_dim);
    tensors.out = make(shape.heads, shape.q_len, shape.v_head_dim);
    tensors.lse = OwnedTensor(DType::kFloat32, {shape.batch, shape.heads, shape.q_len, 1});
    uint64_t seed = 0;
    for (const OwnedTensor* tensor : {&tensors.q, &tensors.k, &tensors.v}) fill_normal(*tensor, ++seed);
    if (forward_only) return tensors;
    tensors.dout = make(shape.heads, shape.q_len, shape.v_head_dim);
    tensors.dq = make(shape.heads, shape.q_len, shape.head_dim);
    tensors.dk = make(shape.kv_heads, shape.kv_len, shape.head_dim);
    tensors.dv = make(shape.kv_heads, shape.kv_len, shape.v_head_dim);
    fill_normal(tensors.dout, ++seed);
    return tensors;
}

// The median of `repeat` runs, after one that is not counted.
template <class Work>
double median_milliseconds(const std::string& label, int64_t repeat, const Work& work) {
    Progress progress(label);
    work();
    std::vector<double> times;
    for (int64_t i = 0; i < repeat; ++i) {
        progress.advance(static_cast<double>(i + 1) / static_cast<double>(repeat + 1));
        times.push_back(milliseconds_of(work));
    }
    std::nth_element(times.begin(), times.begin() + repeat / 2, times.end());
    return times[static_cast<size_t>(repeat / 2)];
}

struct Speed {
    std::string direction;
    double milliseconds = 0;
    double tflops = 0;  // useful pairs alone
};

Speed speed_of(std::string direction, double milliseconds, double flops) {
    return {std::move(direction), milliseconds, milliseconds > 0 ? flops / milliseconds / 1e9 : 0};
}

void print_table(const Options& options, const MaskSource& source, const AttentionShape& shape,
                 const MaskStatistics& counts, const std::vector<Speed>& speeds, const PeakRate& peak) {
    Columns columns({"", "median", "useful TFLOP/s", "of the peak"});
    for (const Speed& speed : speeds) {
        columns.add({speed.direction, format_milliseconds(speed.milliseconds), fmt::format("{:.3f}", speed.tflops),
                     format_percent(speed.tflops, peak.tflops)});
    }
    Rows rows;
    rows.add("shape", fmt::format("batch {}, heads {} / {}, {} x {}, dimension {} / {}, {}", shape.batch, shape.heads,
                                  shape.kv_heads, group_digits(shape.q_len), group_digits(shape.kv_len), shape.head_dim,
                                  shape.v_head_dim, name_of(shape.dtype)));
    rows.add("pairs", fmt::format("{} useful of {} computed ({})", group_digits(counts.useful_pairs),
                                  group_digits(counts.computed_pairs),
                                  format_percent(static_cast<double>(counts.useful_pairs),
                                                 static_cast<double>(counts.computed_pairs))));
    rows.add("engine", fmt::format("{}, {}", describe_engine(options.engine.engine), plural(peak.threads, "thread")));
    rows.add("peak", fmt::format("{:.3f} TFLOP/s: fp32 multiply-adds on {} registers, {}, measured now", peak.tflops,
                                 peak.vectors, plural(peak.threads, "thread")));
    rows.add("peak memory", format_bytes(peak_memory_bytes()));
    print(io::visible(source.name) + "\n" + rows.text() + "\n" + columns.text());
}

void print_json(const Options& options, const MaskSource& source, const AttentionShape& shape,
                const MaskStatistics& counts, const std::vector<Speed>& speeds, const PeakRate& peak) {
    Json json = {
        {"mask", source.name},
        {"engine", options.engine.engine},
        {"threads", peak.threads},
        {"dtype", name_of(shape.dtype)},
        {"batch", shape.batch},
        {"heads", shape.heads},
        {"kv_heads", shape.kv_heads},
        {"q_len", shape.q_len},
        {"kv_len", shape.kv_len},
        {"head_dim", shape.head_dim},
        {"v_head_dim", shape.v_head_dim},
        {"useful_pairs", counts.useful_pairs},
        {"computed_pairs", counts.computed_pairs},
    };
    for (const Speed& speed : speeds) {
        json[speed.direction] = {{"milliseconds", speed.milliseconds},
                                 {"useful_tflops", speed.tflops},
                                 {"share_of_peak", peak.tflops > 0 ? speed.tflops / peak.tflops : 0}};
    }
    json["peak_tflops"] = peak.tflops;
    json["peak_memory_bytes"] = peak_memory_bytes();
    print_document(json);
}

int run(const Options& options) {
    const AttentionOptions attention = attention_options(options.engine);
    const MaskSource source = read_one_mask(options.mask);
    const AttentionShape shape = attention_shape(options.shape, source.domain);
    const BuiltMask built = build(source, options.mask);
    const MaskStatistics counts = statistics(built.mask, shape.batch, shape.heads);
    const Tensors tensors = make_tensors(shape, options.forward_only);

    std::vector<Speed> speeds;
    const ForwardTensors forward{tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view(),
                                 tensors.lse.view()};
    speeds.push_back(speed_of(
        "forward",
        median_milliseconds("forward", options.repeat, [&] { attention_forward(forward, built.mask, attention); }),
        forward_flops(shape, counts.useful_pairs)));
    if (!options.forward_only) {
        const BackwardTensors backward{tensors.q.view(),   tensors.k.view(),    tensors.v.view(), tensors.out.view(),
                                       tensors.lse.view(), tensors.dout.view(), TensorView{},     tensors.dq.view(),
                                       tensors.dk.view(),  tensors.dv.view()};
        speeds.push_back(speed_of("backward",
                                  median_milliseconds("backward", options.repeat,
                                                      [&] { attention_backward(backward, built.mask, attention); }),
                                  backward_flops(shape, counts.useful_pairs)));
    }
    const PeakRate peak = measure_peak(most_threads(options.engine.threads));
    (options.json ? print_json : print_table)(options, source, shape, counts, speeds, peak);
    return kFine;
}

}  // namespace

void add_bench_command(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("bench", "How fast an engine is under a mask");
    add_mask_options(command, options->mask);
    add_shape_options(command, options->shape);
    add_engine_options(command, options->engine);
    add_integer(command, "--repeat", options->repeat, kRepeats, "Measured runs, whose median counts");
    command.add_flag("--forward-only", options->forward_only, "Leave the backward out");
    command.add_flag("--json", options->json, "Print JSON instead of a table");
    command.footer(kExamples);
    command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace jali::cli

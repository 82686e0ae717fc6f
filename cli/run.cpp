// jali run: attention over the tensors of a file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>

#include "attention/checks.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/mask_source.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/reference_engine.h"
#include "cli/stopwatch.h"
#include "cli/tensor_file.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples =
    R"(Tensors travel in safetensors files. In: q (batch, heads, queries, dimension), k and v (with as many heads or fewer),
and for --backward dout and, if the loss uses it, dlse (batch, heads, queries). Out: out, lse, and for --backward dq, dk, dv.

Examples:
  jali run "q >= kv" --in qkv.safetensors --out result.safetensors
      Causal attention; the lengths are the tensors'.
  jali run --mask window.jmask --in qkv.safetensors --out result.safetensors --backward
      A saved block mask, forward and backward.
  jali run --spec masks.json --name documents --in bshd.safetensors --out result.safetensors --layout bshd
      An entry of a JSON file; tensors stored (batch, sequence, heads, dimension).
  jali run "abs(q - kv) <= 64" --in qkv.safetensors --out exact.safetensors --engine reference
      The same in float64, slowly.
)";

struct Options {
    MaskOptions mask;
    EngineOptions engine;
    std::string in, out, layout = "bhsd";
    bool backward = false, json = false;
};

Layout parse_layout(const std::string& text) {
    if (text == "bhsd") return Layout::kBhsd;
    if (text == "bshd") return Layout::kBshd;
    throw Error(fmt::format("--layout is '{}' but must be bhsd or bshd", text));
}

// The sizes that building a mask cannot change, and then everything that a call of attention checks, before any work:
// those checks need a mask of the right lengths but not its bits.
void check_call(const MaskSource& source, const InputFile& inputs, const Results& results,
                const AttentionOptions& options, Direction direction) {
    const auto require_covers = [](int64_t covered, std::string_view what, std::string_view tensor, int64_t count) {
        if (covered == count) return;
        throw Error(fmt::format("block mask covers {} {} but {} has {}", covered, what, tensor, count));
    };
    const Domain& domain = source.domain;
    require_covers(domain.q_len, "queries", "q", inputs.q.shape[2]);
    require_covers(domain.kv_len, "keys", "k", inputs.k.shape[2]);
    const bool by_batch = source.predicate ? source.predicate->uses_b() : source.loaded->batch() != 1;
    const bool by_head = source.predicate ? source.predicate->uses_h() : source.loaded->heads() != 1;
    if (by_batch) require_covers(domain.batch, "batches", "q", inputs.q.shape[0]);
    if (by_head) require_covers(domain.heads, "heads", "q", inputs.q.shape[1]);

    Domain lengths;
    lengths.q_len = domain.q_len;
    lengths.kv_len = domain.kv_len;
    const BlockMask nothing = build_block_mask(Predicate(false), {.domain = lengths});
    check_forward(forward_tensors(inputs, results), nothing, options);
    if (direction == Direction::kBackward) check_backward(backward_tensors(inputs, results), nothing, options);
}

template <class Work>
double timed(const std::string& label, const Work& work) {
    const Progress progress(label);
    return milliseconds_of(work);
}

struct Times {
    double forward = 0, backward = 0;  // milliseconds
};

Times compute(const MaskSource& source, const BlockMask& mask, const InputFile& inputs, const Results& results,
              const AttentionOptions& options, Direction direction) {
    const ForwardTensors forward = forward_tensors(inputs, results);
    const BackwardTensors backward = backward_tensors(inputs, results);
    Times times;
    if (options.engine == kReferenceEngine) {
        const reference::Keep keep = keep_of(source, inputs.q.shape[0], inputs.q.shape[1]);
        times.forward = timed("forward", [&] { reference_forward(forward, keep, options); });
        if (direction == Direction::kForward) return times;
        times.backward = timed("backward", [&] { reference_backward(backward, keep, options); });
    } else {
        times.forward = timed("forward", [&] { attention_forward(forward, mask, options); });
        if (direction == Direction::kForward) return times;
        times.backward = timed("backward", [&] { attention_backward(backward, mask, options); });
    }
    return times;
}

int run(const Options& options) {
    const Layout layout = parse_layout(options.layout);
    const Direction direction = options.backward ? Direction::kBackward : Direction::kForward;
    const AttentionOptions attention = attention_options(options.engine, Reference::kAllowed);
    note_input(options.in);
    const InputFile inputs(options.in, layout, direction);
    const auto& [batch, heads, q_len, dimension] = inputs.q.shape;
    const MaskSource source = read_one_mask(options.mask, Domain{batch, heads, q_len, inputs.k.shape[2]});
    const Results results = make_results(inputs, layout, direction);
    check_call(source, inputs, results, attention, direction);
    require_writable(options.out);

    const BuiltMask built = build(source, options.mask);
    const Times times = compute(source, built.mask, inputs, results, attention, direction);
    write_results(options.out, results, layout, direction);

    if (options.json) {
        Json json = {{"mask", source.name},
                     {"engine", options.engine.engine},
                     {"build_milliseconds", built.cost.milliseconds},
                     {"forward_milliseconds", times.forward}};
        if (options.backward) json["backward_milliseconds"] = times.backward;
        json["peak_memory_bytes"] = peak_memory_bytes();
        json["out"] = options.out;
        print_document(json);
    } else {
        print(fmt::format("{}: mask {}, forward {}{}; engine {}, peak memory {}\n", options.out,
                          format_milliseconds(built.cost.milliseconds), format_milliseconds(times.forward),
                          options.backward ? ", backward " + format_milliseconds(times.backward) : "",
                          describe_engine(options.engine.engine), format_bytes(peak_memory_bytes())));
    }
    return kFine;
}

}  // namespace

void add_run_command(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("run", "Attention over the tensors of a file, forward and backward");
    add_mask_options(command, options->mask);
    add_engine_options(command, options->engine);
    command.get_option("--engine")->description("cpu, or reference: float64, slow");
    const std::string group = "Tensors";
    command.add_option("--in", options->in, "Where q k v [dout] [dlse] are")
        ->type_name("FILE.safetensors")
        ->required()
        ->group(group);
    command.add_option("--out", options->out, "Where out lse [dq dk dv] go")
        ->type_name("FILE.safetensors")
        ->required()
        ->group(group);
    command.add_flag("--backward", options->backward, "Also dq, dk and dv, from dout and dlse")->group(group);
    command
        .add_option("--layout", options->layout,
                    "bhsd: (batch, heads, sequence, dimension); bshd: heads after sequence")
        ->type_name("LAYOUT")
        ->default_str(options->layout)
        ->group(group);
    command.add_flag("--json", options->json, "Print JSON instead of a line")->group(group);
    command.footer(kExamples);
    command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace jali::cli

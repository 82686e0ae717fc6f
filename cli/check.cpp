// jali check: an engine held to the float64 reference.
#include "attention/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <random>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/mask_source.h"
#include "cli/numbers.h"
#include "cli/progress.h"
#include "cli/reference_engine.h"
#include "cli/shape_options.h"
#include "io/visible_text.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples =
    R"(Random tensors go through the engine and through the reference, which evaluates the predicate pair by pair in float64. In
every tile of 128 rows the engine may err at most twice as much as the same maths done plainly in the tested type (lse:
three times), and by 1.1 times its root mean square over a tensor. Exit code 1 when it errs more.

Examples:
  jali check "q >= kv" --q-len 300 --backward
      Causal attention in bf16, forward and backward.
  jali check --spec masks.json --name prefix --heads 4 --kv-heads 2 --dtype fp32 --peaked --backward
      An entry of a JSON file, grouped heads, a softmax near one-hot: it shows a wrong bit that averages hide.
  jali check "abs(q - kv) < 40" --q-len 500 --head-dim 96 --v-head-dim 64 --seed 7 --json
      The same numbers again: the seed is printed at each run.
  jali check "q >= kv" --q-len 300 --flip 0,0,20,21 || echo "one wrong bit is seen"
      The engine gets a mask with one wrong pair (batch, head, query, key), so the check must fail.
)";

constexpr IntegerRange kSeeds{0, std::numeric_limits<int64_t>::max()};
// Failing tiles that are listed; --json has all of them.
constexpr int kListedTiles = 10;

struct Options {
    MaskOptions mask;
    EngineOptions engine;
    ShapeOptions shape;
    std::optional<int64_t> seed;
    std::string flip;
    bool backward = false, peaked = false, json = false;
};

CheckOptions check_options(const Options& options, const AttentionShape& shape) {
    CheckOptions check;
    check.shape = {.batch = shape.batch,
                   .q_heads = shape.heads,
                   .kv_heads = shape.kv_heads,
                   .q_len = shape.q_len,
                   .kv_len = shape.kv_len,
                   .head_dim = shape.head_dim,
                   .v_head_dim = shape.v_head_dim};
    check.dtype = shape.dtype;
    check.inputs = options.peaked ? InputKind::kPeaked : InputKind::kNormal;
    check.seed = options.seed ? static_cast<uint64_t>(*options.seed) : std::random_device()();
    check.passes = options.backward ? Passes::kForwardAndBackward : Passes::kForward;
    check.attention = attention_options(options.engine);
    return check;
}

// The source with one pair kept that was not, or the reverse.
MaskSource flipped(MaskSource source, const std::string& pair) {
    const std::vector<int64_t> at = parse_integers("--flip", pair);
    const Domain& n = source.domain;
    const std::array limits = {n.batch, n.heads, n.q_len, n.kv_len};
    bool inside = at.size() == limits.size();
    for (size_t i = 0; inside && i < at.size(); ++i) inside = at[i] >= 0 && at[i] < limits[i];
    if (!inside) {
        throw Error(fmt::format("--flip is '{}' but must be B,H,Q,KV below {}", pair, fmt::join(limits, ",")));
    }
    if (!source.predicate) throw Error("--flip needs a mask given as TEXT or by --spec");
    using namespace indices;
    source.predicate =
        Predicate(source.predicate->expression() ^ (b == at[0] && h == at[1] && q == at[2] && kv == at[3]));
    return source;
}

std::string rows_text(const TensorError& tensor, const TileError& tile) {
    return fmt::format("b {} h {} tile {} row {}{}", tile.b, tile.h, tile.tile, tile.row,
                       tensor.name == "lse" ? "" : fmt::format(" column {}", tile.column));
}

void print_json(const MaskSource& source, const CheckOptions& check, const CheckResult& result) {
    Json json = {{"mask", source.name},
                 {"engine", check.attention.engine},
                 {"dtype", name_of(check.dtype)},
                 {"inputs", check.inputs == InputKind::kPeaked ? "peaked" : "normal"},
                 {"seed", check.seed},
                 {"passed", result.passed()},
                 {"failure", result.failure()},
                 {"tensors", Json::array()}};
    for (const TensorError& tensor : result.tensors) {
        Json tiles = Json::array();
        for (const TileError& tile : tensor.tiles) {
            tiles.push_back({{"b", tile.b},
                             {"h", tile.h},
                             {"tile", tile.tile},
                             {"error", tile.error},
                             {"allowed", tile.allowed},
                             {"passed", tile.passed()}});
        }
        json["tensors"].push_back({{"name", tensor.name},
                                   {"elements", tensor.elements},
                                   {"rms", tensor.rms},
                                   {"naive_rms", tensor.naive_rms},
                                   {"passed", tensor.passed()},
                                   {"tiles", tiles}});
    }
    print_document(json);
}

std::string failing_tiles(const CheckResult& result) {
    std::string text;
    int listed = 0, failing = 0;
    for (const TensorError& tensor : result.tensors) {
        for (const TileError& tile : tensor.tiles) {
            if (tile.passed()) continue;
            ++failing;
            if (listed == kListedTiles) continue;
            ++listed;
            text += fmt::format("  {} {}: {:.6g} and should be {:.6g}, off by {:.2g}, allowed {:.2g}\n", tensor.name,
                                rows_text(tensor, tile), tile.value, tile.exact, tile.error, tile.allowed);
        }
    }
    if (failing == 1) return "";  // the sentence has said it
    if (failing > listed) text += fmt::format("  and {} more tiles\n", failing - listed);
    return text;
}

void print_table(const MaskSource& source, const CheckOptions& check, const CheckResult& result) {
    Columns columns({"tensor", "largest error", "allowed there", "rms error", "plain rms", "tiles", "worst at", ""});
    for (const TensorError& tensor : result.tensors) {
        const TileError* worst = tensor.worst();
        columns.add({tensor.name, worst == nullptr ? "-" : fmt::format("{:.2e}", worst->error),
                     worst == nullptr ? "-" : fmt::format("{:.2e}", worst->allowed), fmt::format("{:.2e}", tensor.rms),
                     fmt::format("{:.2e}", tensor.naive_rms), group_digits(static_cast<int64_t>(tensor.tiles.size())),
                     worst == nullptr ? "-" : rows_text(tensor, *worst), tensor.passed() ? "ok" : "FAILED"});
    }
    Rows rows;
    const reference::Shape& n = check.shape;
    rows.add("shape",
             fmt::format("batch {}, heads {} / {}, {} x {}, dimension {} / {}, {}, {} inputs", n.batch, n.q_heads,
                         n.kv_heads, group_digits(n.q_len), group_digits(n.kv_len), n.head_dim, n.v_head_dim,
                         name_of(check.dtype), check.inputs == InputKind::kPeaked ? "peaked" : "N(0, 1)"));
    rows.add("engine", fmt::format("{}, {}", describe_engine(check.attention.engine),
                                   format_milliseconds(result.engine_milliseconds)));
    rows.add("reference", fmt::format("float64, {}", format_milliseconds(result.reference_milliseconds)));
    rows.add("seed", fmt::format("{}", check.seed));
    print(io::visible(source.name) + "\n" + rows.text() + "\n" + columns.text());
    print(result.passed() ? "\npassed\n" : "\nFAILED: " + result.failure() + "\n" + failing_tiles(result));
}

int run(const Options& options) {
    const MaskSource source = read_one_mask(options.mask);
    const AttentionShape shape = attention_shape(options.shape, source.domain);
    require_memory(check_bytes(shape));
    const CheckOptions check = check_options(options, shape);
    const BuiltMask built = build(options.flip.empty() ? source : flipped(source, options.flip), options.mask);
    const CheckResult result = [&] {
        const Progress progress("checking");
        return check_engine(built.mask, keep_of(source, shape.batch, shape.heads), check);
    }();
    (options.json ? print_json : print_table)(source, check, result);
    return result.passed() ? kFine : kCheckFailed;
}

}  // namespace

void add_check_command(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("check", "Hold an engine to the float64 reference, per tensor and tile");
    add_mask_options(command, options->mask);
    add_shape_options(command, options->shape);
    add_engine_options(command, options->engine);
    command.add_flag("--backward", options->backward, "Also the gradients");
    command.add_flag("--peaked", options->peaked, "Inputs whose softmax is near one-hot");
    add_integer(command, "--seed", options->seed, kSeeds, "The seed of the inputs (default: a fresh one)");
    command.add_option("--flip", options->flip, "Give the engine a mask with this pair wrong: the check must fail")
        ->type_name("B,H,Q,KV");
    command.add_flag("--json", options->json, "Print JSON instead of a table");
    command.footer(kExamples);
    command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace jali::cli

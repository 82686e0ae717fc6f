#include "cli/shape_options.h"

#include <CLI/CLI.hpp>

#include "cli/engine_options.h"
#include "cli/numbers.h"

namespace jali::cli {

namespace {

constexpr IntegerRange kHeads{1, 1 << 20};
constexpr IntegerRange kDimension{8, 256};

}  // namespace

void add_shape_options(CLI::App& app, ShapeOptions& options) {
    const std::string group = "Tensors (--batch and --heads say how many query heads there are)";
    add_integer(app, "--kv-heads", options.kv_heads, kHeads, "Key heads (default: as many as query heads)")
        ->group(group);
    add_integer(app, "--head-dim", options.head_dim, kDimension, "The dimension of q and k")->group(group);
    add_integer(app, "--v-head-dim", options.v_head_dim, kDimension, "The dimension of v (default: --head-dim)")
        ->group(group);
    app.add_option("--dtype", options.dtype, "fp32, bf16 or fp16")
        ->type_name("TYPE")
        ->default_str(options.dtype)
        ->group(group);
}

AttentionShape attention_shape(const ShapeOptions& options, const Domain& domain) {
    AttentionShape shape{.batch = domain.batch, .heads = domain.heads, .q_len = domain.q_len, .kv_len = domain.kv_len};
    shape.kv_heads = options.kv_heads.value_or(domain.heads);
    shape.head_dim = options.head_dim;
    shape.v_head_dim = options.v_head_dim.value_or(options.head_dim);
    shape.dtype = parse_dtype(options.dtype);
    check_shape(shape);
    return shape;
}

}  // namespace jali::cli

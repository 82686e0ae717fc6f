// --kv-heads, --head-dim, --v-head-dim, --dtype: shared by `check` and `bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/work_size.h"
#include "jali/predicate.h"

namespace CLI {
class App;
}

namespace jali::cli {

struct ShapeOptions {
    std::optional<int64_t> kv_heads, v_head_dim;
    int64_t head_dim = 128;
    std::string dtype = "bf16";
};

void add_shape_options(CLI::App& app, ShapeOptions& options);
// Batch, query heads and lengths are the mask's. Throws Error where heads do not divide.
AttentionShape attention_shape(const ShapeOptions& options, const Domain& domain);

}  // namespace jali::cli

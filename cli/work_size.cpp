#include "cli/work_size.h"

#include <fmt/format.h>

#include "cli/console.h"
#include "cli/machine.h"
#include "jali/error.h"

namespace jali::cli {

void check_shape(const AttentionShape& shape) {
    if (shape.heads % shape.kv_heads != 0) {
        throw Error(
            fmt::format("q has {} heads, which is not a multiple of the {} heads of k", shape.heads, shape.kv_heads));
    }
    for (const auto& [option, dimension] :
         {std::pair{"--head-dim", shape.head_dim}, {"--v-head-dim", shape.v_head_dim}}) {
        if (dimension % 8 != 0) throw Error(fmt::format("{} is {} but must be a multiple of 8", option, dimension));
    }
}

double forward_flops(const AttentionShape& shape, int64_t pairs) {
    return 2 * static_cast<double>(shape.head_dim + shape.v_head_dim) * static_cast<double>(pairs);
}

double backward_flops(const AttentionShape& shape, int64_t pairs) {
    return 2 * static_cast<double>(3 * shape.head_dim + 2 * shape.v_head_dim) * static_cast<double>(pairs);
}

int64_t forward_bytes(const AttentionShape& shape) {
    const int64_t q_rows = shape.batch * shape.heads * shape.q_len;
    const int64_t kv_rows = shape.batch * shape.kv_heads * shape.kv_len;
    const int64_t elements = (q_rows + kv_rows) * (shape.head_dim + shape.v_head_dim);
    return elements * bytes_of(shape.dtype) + q_rows * bytes_of(DType::kFloat32);
}

int64_t backward_bytes(const AttentionShape& shape) {
    const int64_t q_rows = shape.batch * shape.heads * shape.q_len;
    return 2 * forward_bytes(shape) - q_rows * bytes_of(DType::kFloat32);
}

void require_memory(int64_t bytes) {
    const int64_t present = this_machine().memory_bytes;
    if (bytes > present) {
        throw Error(
            fmt::format("the tensors need {} but this machine has {}", format_bytes(bytes), format_bytes(present)));
    }
}

}  // namespace jali::cli

#include "cli/reference_engine.h"

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "attention/rounding.h"

namespace jali::cli {

namespace {

// Calls visit(b, h, s, d) in row-major order, as the reference stores tensors.
template <class Visit>
void for_each_element(const TensorView& tensor, const Visit& visit) {
    const auto& [batch, heads, length, dimension] = tensor.shape;
    for (int64_t b = 0; b < batch; ++b) {
        for (int64_t h = 0; h < heads; ++h) {
            for (int64_t s = 0; s < length; ++s) {
                for (int64_t d = 0; d < dimension; ++d) visit(b, h, s, d);
            }
        }
    }
}

std::vector<double> read_elements(const TensorView& tensor) {
    std::vector<double> values;
    values.reserve(static_cast<size_t>(tensor.elements()));
    for_each_element(
        tensor, [&](int64_t b, int64_t h, int64_t s, int64_t d) { values.push_back(element(tensor, b, h, s, d)); });
    return values;
}

void write_elements(const TensorView& tensor, const std::vector<double>& values) {
    size_t next = 0;
    for_each_element(
        tensor, [&](int64_t b, int64_t h, int64_t s, int64_t d) { set_element(tensor, b, h, s, d, values[next++]); });
}

reference::Inputs inputs_of(const TensorView& q, const TensorView& k, const TensorView& v,
                            const AttentionOptions& options) {
    return {.shape = {.batch = q.shape[0],
                      .q_heads = q.shape[1],
                      .kv_heads = k.shape[1],
                      .q_len = q.shape[2],
                      .kv_len = k.shape[2],
                      .head_dim = q.shape[3],
                      .v_head_dim = v.shape[3]},
            .scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape[3]))),
            .q = read_elements(q),
            .k = read_elements(k),
            .v = read_elements(v)};
}

// The row that was asked last: the reference walks the keys of one query before the next.
struct LastRow {
    std::array<int64_t, 3> at{-1, -1, -1};
    std::vector<uint8_t> kept;
};

}  // namespace

reference::Keep keep_of(const MaskSource& source, int64_t batch, int64_t heads) {
    if (source.predicate) {
        const Domain domain{batch, heads, source.domain.q_len, source.domain.kv_len};
        return [keep = *source.predicate, domain](int64_t b, int64_t h, int64_t q, int64_t kv) {
            return evaluate(keep, domain, b, h, q, kv);
        };
    }
    const auto last = std::make_shared<LastRow>();
    last->kept.resize(static_cast<size_t>(source.domain.kv_len));
    return [mask = &*source.loaded, last](int64_t b, int64_t h, int64_t q, int64_t kv) {
        if (const std::array at{b, h, q}; last->at != at) {
            dense_row(*mask, b, h, q, last->kept);
            last->at = at;
        }
        return last->kept[static_cast<size_t>(kv)] != 0;
    };
}

void reference_forward(const ForwardTensors& tensors, const reference::Keep& keep, const AttentionOptions& options) {
    const reference::Outputs outputs = reference::forward(inputs_of(tensors.q, tensors.k, tensors.v, options), keep);
    write_elements(tensors.out, outputs.out);
    write_elements(tensors.lse, outputs.lse);
}

void reference_backward(const BackwardTensors& tensors, const reference::Keep& keep, const AttentionOptions& options) {
    const std::vector<double> dlse = tensors.dlse.data == nullptr ? std::vector<double>() : read_elements(tensors.dlse);
    const reference::Gradients gradients = reference::backward(inputs_of(tensors.q, tensors.k, tensors.v, options),
                                                               keep, read_elements(tensors.dout), dlse);
    write_elements(tensors.dq, gradients.dq);
    write_elements(tensors.dk, gradients.dk);
    write_elements(tensors.dv, gradients.dv);
}

}  // namespace jali::cli

// The reference engine: float64, obvious code, the predicate evaluated pair by pair. Slow on purpose; it shares no
// code with the other engines, so that they can be held to it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace jali::reference {

// keep(b, h, q, kv), h over query heads.
using Keep = std::function<bool(int64_t b, int64_t h, int64_t q, int64_t kv)>;

struct Shape {
    int64_t batch = 1, q_heads = 1, kv_heads = 1, q_len = 0, kv_len = 0, head_dim = 0, v_head_dim = 0;
};

// All tensors are dense (batch, heads, sequence, dimension) float64; lse and dlse have no last dimension.
struct Inputs {
    Shape shape;
    double scale = 0;  // applied as given
    std::vector<double> q, k, v;
};
struct Outputs {
    std::vector<double> out, lse;
};
struct Gradients {
    std::vector<double> dq, dk, dv;
};

Outputs forward(const Inputs& inputs, const Keep& keep);
// `dlse` may be empty (zero).
Gradients backward(const Inputs& inputs, const Keep& keep, const std::vector<double>& dout,
                   const std::vector<double>& dlse);

}  // namespace jali::reference

// The reference engine: float64, obvious code, the predicate evaluated pair by pair. Slow on purpose; it shares no
// code with the other engines, so that they can be held to it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
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

// Sampled rows, for lengths where all of them would take too long: nothing of size S x S is kept.

// Writes row s of (b, h) of a tensor, as float64, into `row`.
using ReadRow = std::function<void(int64_t b, int64_t h, int64_t s, std::span<double> row)>;

struct RowInputs {
    Shape shape;
    double scale = 0;
    ReadRow q, k, v;
    ReadRow dout;                                                 // for gradients
    std::function<double(int64_t b, int64_t h, int64_t s)> dlse;  // may be empty (zero)
};

struct QueryRow {
    std::vector<double> out;
    double lse = 0;
    std::vector<double> dq;  // empty where the inputs have no dout
};
struct KeyRow {
    std::vector<double> dk, dv;
};

// Query row q of (b, h): one pass over its keys, about kv_len * (2 D + 2 Dv) multiplications.
QueryRow query_row(const RowInputs& inputs, const Keep& keep, int64_t b, int64_t h, int64_t q);
// The gradients of key rows `kv` of (b, kv_head). Every query that keeps one of them is attended in full first, once
// for all of them, so rows of one document, or neighbours, cost little more than one.
std::vector<KeyRow> key_rows(const RowInputs& inputs, const Keep& keep, int64_t b, int64_t kv_head,
                             std::span<const int64_t> kv);

}  // namespace jali::reference

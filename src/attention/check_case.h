// One call of attention with all its values: what the reference, the naive yardstick and an engine are each given,
// and what each answers.
#pragma once

#include <cstdint>
#include <vector>

#include "jali/attention.h"
#include "jali/reference.h"

namespace jali {

enum class InputKind : uint8_t {
    kNormal,  // N(0, 1)
    kPeaked,  // queries 8 times as large: near one-hot rows, which show a wrong mask bit that averages hide
};
enum class Passes : uint8_t { kForward, kForwardAndBackward };

// Dense (batch, heads, sequence, dimension) values, all of them representable in the dtype; lse and dlse in float32,
// without a last dimension.
struct AttentionCase {
    reference::Shape shape;
    DType dtype = DType::kFloat32;
    double scale = 1.0;  // a float32 value
    std::vector<double> q, k, v, dout, dlse;
};

struct CaseResults {
    std::vector<double> out, lse, dq, dk, dv;  // the gradients are empty after a forward alone
};

// The same values for the same seed, on any machine.
AttentionCase draw_case(const reference::Shape& shape, DType dtype, InputKind kind, uint64_t seed);

CaseResults exact_results(const AttentionCase& values, const reference::Keep& keep, Passes passes);

// The same maths done plainly in the dtype: P, dS, out and gradients rounded to it, sums and lse in float32, delta
// from the rounded out.
CaseResults naive_results(const AttentionCase& values, const reference::Keep& keep, Passes passes);

// The engine's, from contiguous tensors whose outputs held NaN before.
CaseResults engine_results(const AttentionCase& values, const BlockMask& mask, Passes passes, AttentionOptions options);

}  // namespace jali

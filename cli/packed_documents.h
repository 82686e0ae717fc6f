// The demonstration's call of attention: documents packed one after the other, causal within each.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/owned_tensor.h"
#include "jali/attention.h"
#include "jali/predicate.h"

namespace jali::cli {

// The documents of a public performance report about this mask: 512 to 4,095 tokens each, 32,768 together.
const std::vector<int64_t>& document_lengths();

inline constexpr int64_t kDemoHeads = 16;
inline constexpr int64_t kDemoHeadDim = 128;
inline constexpr DType kDemoDType = DType::kBFloat16;

// doc[q] == doc[kv] and q >= kv
Predicate packed_documents(const std::vector<int64_t>& lengths);

// N(0, 1) in q, k, v and dout; the results hold nothing yet.
struct DemoTensors {
    OwnedTensor q, k, v, dout;
    OwnedTensor out, lse, dq, dk, dv;

    ForwardTensors forward() const;
    BackwardTensors backward() const;
};
DemoTensors draw_demo_tensors(int64_t tokens, uint64_t seed);

}  // namespace jali::cli

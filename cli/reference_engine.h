// The float64 reference over tensors in memory: `jali run --engine reference`.
#pragma once

#include "cli/mask_source.h"
#include "jali/attention.h"
#include "jali/reference.h"

namespace jali::cli {

inline constexpr const char* kReferenceEngine = "reference";

// keep(b, h, q, kv) as the reference asks it: the predicate itself, or the bits of a loaded block mask, which must
// outlive the result. `batch` and `heads` are the tensors'.
reference::Keep keep_of(const MaskSource& source, int64_t batch, int64_t heads);

// As attention_forward and attention_backward, on tensors that passed their checks.
void reference_forward(const ForwardTensors& tensors, const reference::Keep& keep, const AttentionOptions& options);
void reference_backward(const BackwardTensors& tensors, const reference::Keep& keep, const AttentionOptions& options);

}  // namespace jali::cli

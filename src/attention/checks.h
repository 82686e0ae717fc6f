// What must hold before an engine runs. Each function throws Error, one sentence with the numbers that disagree.
#pragma once

#include "jali/attention.h"

namespace jali {

void check_forward(const ForwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options);
void check_backward(const BackwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options);

}  // namespace jali

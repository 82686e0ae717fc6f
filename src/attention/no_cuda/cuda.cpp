// jali/cuda.h in a build without kernels: it says so.
#include "jali/cuda.h"

#include "jali/error.h"

namespace jali::cuda {

namespace {

constexpr const char* kProblem = "this build of Jali has no GPU kernels: no CUDA compiler was found when it was built";

}  // namespace

struct Attention::State {};

std::vector<DeviceInfo> devices() {
    return {};
}

std::string driver_problem() {
    return kProblem;
}

Attention::Attention(const BlockMask& /*mask*/, const Shape& /*shape*/, int /*device*/, Stream /*stream*/) {
    throw Error(kProblem);
}
Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;

int64_t Attention::forward_workspace_bytes() const {
    throw Error(kProblem);
}
int64_t Attention::backward_workspace_bytes() const {
    throw Error(kProblem);
}
void Attention::forward(const ForwardTensors& /*tensors*/, void* /*workspace*/, Stream /*stream*/,
                        std::optional<double> /*scale*/) const {
    throw Error(kProblem);
}
void Attention::backward(const BackwardTensors& /*tensors*/, void* /*workspace*/, Stream /*stream*/,
                         std::optional<double> /*scale*/) const {
    throw Error(kProblem);
}

}  // namespace jali::cuda

// Attention on NVIDIA GPUs, on device memory and the caller's stream.
//
// An Attention owns the device copy of a block mask; layers share one. Calls allocate nothing and synchronise nothing,
// may be captured in CUDA graphs, and may come from several threads; calls that run at the same time need a workspace
// each. The driver is opened at run time: a program that links Jali starts on a machine without one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jali/attention.h"

namespace jali::cuda {

// A CUstream or cudaStream_t; null is the default stream.
using Stream = void*;

struct DeviceInfo {
    int index = 0;
    std::string name;     // "NVIDIA H200"
    std::string arch;     // "sm_90"
    std::string problem;  // why Jali has no kernels for it, one sentence; empty where it has
};
// Those that the driver shows; none where there is no driver.
std::vector<DeviceInfo> devices();
// Why devices() is empty: no driver, too old a driver, no device. One sentence, empty where there is one.
std::string driver_problem();

struct Shape {
    int64_t batch = 1, q_heads = 1, kv_heads = 1;
    int64_t head_dim = 0, v_head_dim = 0;  // multiples of 8 up to 128
    DType dtype = DType::kBFloat16;        // or kFloat16
};

class Attention {
   public:
    // Uploads the mask on `stream`, without waiting for it: calls on other streams must be ordered after it. Throws
    // Error where the shape or the device is none that Jali has kernels for, or the device has too little memory.
    Attention(const BlockMask& mask, const Shape& shape, int device = 0, Stream stream = nullptr);
    ~Attention();
    Attention(Attention&&) noexcept;
    Attention& operator=(Attention&&) noexcept;

    int64_t forward_workspace_bytes() const;
    int64_t backward_workspace_bytes() const;

    // Tensors and workspace are device memory; the workspace starts at a multiple of 256 bytes and need not be cleared.
    // Shapes and strides as jali/attention.h. Throws Error before any work, and where a launch fails.
    void forward(const ForwardTensors& tensors, void* workspace, Stream stream = nullptr,
                 std::optional<double> scale = {}) const;
    void backward(const BackwardTensors& tensors, void* workspace, Stream stream = nullptr,
                  std::optional<double> scale = {}) const;

   private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace jali::cuda

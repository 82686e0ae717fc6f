// Calls on device memory: checks, workspace, launches.
#include <algorithm>
#include <cmath>

#include "attention/checks.h"
#include "attention/cuda/device_memory.h"
#include "attention/cuda/driver.h"
#include "attention/cuda/flat_mask.h"
#include "attention/cuda/kernels.h"
#include "attention/cuda/tensor_map.h"
#include "jali/cuda.h"
#include "jali/error.h"
#include "kernels/sm90/backward_parameters.h"
#include "kernels/sm90/forward_parameters.h"
#include "kernels/sm90/launch.h"

namespace jali::cuda {

namespace {

constexpr int64_t kAlignment = 256;
constexpr int64_t kTile = 128;
constexpr int64_t kColumns = 128;  // that the kernels compute with, whatever the head dimension
constexpr double kLog2E = 1.4426950408889634;

// A scale of 0 makes all weights equal; the kernels need one that keeps -inf apart from 0.
constexpr float kSmallestScale = 1e-37F;

struct Scale {
    float natural, log2;
    float rest;  // what log2 lost in rounding, in natural units
    bool negate;
};

Scale scale_of(std::optional<double> scale, int64_t head_dim) {
    const double natural = scale.value_or(1.0 / std::sqrt(static_cast<double>(head_dim)));
    const float log2 = std::max(kSmallestScale, static_cast<float>(std::abs(natural) * kLog2E));
    return {static_cast<float>(natural), log2, static_cast<float>(std::abs(natural) - log2 / kLog2E), natural < 0};
}

void launch(CUfunction kernel, std::string_view name, int64_t blocks, int threads, int shared_bytes, CUstream stream,
            void* parameters) {
    if (blocks == 0) return;
    void* arguments[] = {parameters};
    check(driver().launch_kernel(kernel, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1,
                                 static_cast<unsigned>(shared_bytes), stream, arguments, nullptr),
          "launching " + std::string(name));
}

// Pieces of the workspace, one after another.
class Workspace {
   public:
    explicit Workspace(void* start) : next_(reinterpret_cast<uint64_t>(start)) {}
    template <typename T>
    T* take(int64_t count) {
        auto* piece = reinterpret_cast<T*>(next_);
        next_ +=
            static_cast<uint64_t>((count * static_cast<int64_t>(sizeof(T)) + kAlignment - 1) / kAlignment) * kAlignment;
        return piece;
    }
    uint64_t end() const { return next_; }

   private:
    uint64_t next_;
};

struct BackwardScratch {
    int32_t* counter;
    int32_t* dq_states;
    float *lse_log2, *delta, *dq_sums;
    uint64_t cleared_bytes, bytes;

    BackwardScratch(void* start, int64_t slots) {
        Workspace workspace(start);
        const auto begin = workspace.end();
        counter = workspace.take<int32_t>(1);
        dq_states = workspace.take<int32_t>(slots * 4);
        cleared_bytes = workspace.end() - begin;
        lse_log2 = workspace.take<float>(slots * kTile);
        delta = workspace.take<float>(slots * kTile);
        dq_sums = workspace.take<float>(slots * kTile * kColumns);
        bytes = workspace.end() - begin;
    }
};

void check_aligned(const void* workspace) {
    const auto address = reinterpret_cast<uint64_t>(workspace);
    if (workspace == nullptr || address % kAlignment != 0)
        throw Error("the workspace starts at address " + std::to_string(address) +
                    ", which is no multiple of 256 bytes");
}

}  // namespace

struct Attention::State {
    BlockMask mask;
    Shape shape;
    int device = 0;
    const DeviceKernels* kernels = nullptr;
    DeviceMask device_mask{};
    DeviceMemory memory;
    int64_t slots = 0;      // query tiles over all (b, h)
    int64_t key_items = 0;  // key tiles over all (b, key head)

    State(const BlockMask& m, const Shape& s, int d) : mask(m), shape(s), device(d) {}

    const Kernels& of_dtype() const { return shape.dtype == DType::kFloat16 ? kernels->float16 : kernels->bfloat16; }
    int64_t blocks(int64_t items) const { return std::min<int64_t>(items, kernels->multiprocessors); }

    void check_shape(const TensorView& q, const TensorView& k, const TensorView& v) const {
        if (q.dtype != shape.dtype || q.shape[0] != shape.batch || q.shape[1] != shape.q_heads ||
            k.shape[1] != shape.kv_heads || q.shape[3] != shape.head_dim || v.shape[3] != shape.v_head_dim)
            throw Error("q (" + std::to_string(q.shape[0]) + ", " + std::to_string(q.shape[1]) + ", ., " +
                        std::to_string(q.shape[3]) + ") with " + std::to_string(k.shape[1]) + " key heads and " +
                        std::string(name_of(q.dtype)) + " values of dimension " + std::to_string(v.shape[3]) +
                        " is not what this Attention was made for: (" + std::to_string(shape.batch) + ", " +
                        std::to_string(shape.q_heads) + ", ., " + std::to_string(shape.head_dim) + "), " +
                        std::to_string(shape.kv_heads) + " key heads, " + std::string(name_of(shape.dtype)) +
                        ", dimension " + std::to_string(shape.v_head_dim));
    }
};

Attention::Attention(const BlockMask& mask, const Shape& shape, int device, Stream stream) {
    if (shape.dtype != DType::kBFloat16 && shape.dtype != DType::kFloat16)
        throw Error("the GPU engine takes bfloat16 and float16, not " + std::string(name_of(shape.dtype)));
    for (const int64_t dim : {shape.head_dim, shape.v_head_dim})
        if (dim <= 0 || dim > kColumns || dim % 8 != 0)
            throw Error("the GPU engine is built for head dimensions that are multiples of 8 up to 128, not " +
                        std::to_string(dim));
    if (shape.kv_heads > 0 && shape.q_heads % shape.kv_heads != 0)
        throw Error(std::to_string(shape.q_heads) + " query heads do not divide over " +
                    std::to_string(shape.kv_heads) + " key heads");
    if ((mask.batch() != 1 && mask.batch() != shape.batch) || (mask.heads() != 1 && mask.heads() != shape.q_heads))
        throw Error("the block mask has " + std::to_string(mask.batch()) + " batches and " +
                    std::to_string(mask.heads()) + " heads, and the tensors " + std::to_string(shape.batch) + " and " +
                    std::to_string(shape.q_heads));
    const DeviceKernels& kernels = kernels_of(device);
    const CurrentDevice current(device);
    state_ = std::make_unique<State>(mask, shape, device);
    state_->kernels = &kernels;
    for (int64_t b = 0; b < shape.batch; ++b) {
        const Grid& grid = mask.grid(mask.batch() == 1 ? 0 : b);
        state_->slots += shape.q_heads * std::ssize(grid.q_tiles);
        state_->key_items += shape.kv_heads * std::ssize(grid.kv_tiles);
    }
    const FlatMask flat = flatten(mask);
    state_->memory = DeviceMemory(std::ssize(flat.bytes), device);
    check(driver().copy_to_device(state_->memory.address(), flat.bytes.data(), flat.bytes.size(),
                                  static_cast<CUstream>(stream)),
          "uploading the block mask");
    state_->device_mask = at(flat.layout, state_->memory.address());
}

Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;

int64_t Attention::forward_workspace_bytes() const {
    return kAlignment;
}

int64_t Attention::backward_workspace_bytes() const {
    return static_cast<int64_t>(BackwardScratch(nullptr, state_->slots).bytes);
}

void Attention::forward(const ForwardTensors& tensors, void* workspace, Stream stream,
                        std::optional<double> scale) const {
    const State& state = *state_;
    check_forward(tensors, state.mask, {.scale = scale});
    state.check_shape(tensors.q, tensors.k, tensors.v);
    check_aligned(workspace);
    const CurrentDevice current(state.device);
    const auto on = static_cast<CUstream>(stream);
    const Scale s = scale_of(scale, state.shape.head_dim);
    void* stand_in = workspace;

    sm90::ForwardParameters p{};
    p.q = tensor_map(tensors.q, 128, "q", stand_in);
    p.k = tensor_map(tensors.k, 128, "k", stand_in);
    p.v = tensor_map(tensors.v, 128, "v", stand_in);
    p.out = tensor_map(tensors.out, 64, "out", stand_in);
    p.mask = state.device_mask;
    p.out_pointer = tensors.out.data;
    p.out_batch_stride = tensors.out.strides[0];
    p.out_head_stride = tensors.out.strides[1];
    p.out_row_stride = tensors.out.strides[2];
    p.lse = static_cast<float*>(tensors.lse.data);
    p.counter = static_cast<int32_t*>(workspace);
    p.lse_batch_stride = tensors.lse.strides[0];
    p.lse_head_stride = tensors.lse.strides[1];
    p.lse_row_stride = tensors.lse.strides[2];
    p.batch = static_cast<int32_t>(state.shape.batch);
    p.q_heads = static_cast<int32_t>(state.shape.q_heads);
    p.heads_per_kv_head = static_cast<int32_t>(state.shape.q_heads / std::max<int64_t>(1, state.shape.kv_heads));
    p.value_dim = static_cast<int32_t>(state.shape.v_head_dim);
    p.scale_log2 = s.log2;
    p.scale_rest = s.rest;
    p.negate = s.negate;
    check(driver().set_words(reinterpret_cast<CUdeviceptr>(workspace), 0, 1, on), "clearing the workspace");
    launch(state.of_dtype().forward, "the forward kernel", state.blocks(state.slots), sm90::kThreads,
           sm90::kForwardSharedBytes, on, &p);
}

void Attention::backward(const BackwardTensors& tensors, void* workspace, Stream stream,
                         std::optional<double> scale) const {
    const State& state = *state_;
    check_backward(tensors, state.mask, {.scale = scale});
    state.check_shape(tensors.q, tensors.k, tensors.v);
    check_aligned(workspace);
    const CurrentDevice current(state.device);
    const auto on = static_cast<CUstream>(stream);
    const Scale s = scale_of(scale, state.shape.head_dim);
    const BackwardScratch scratch(workspace, state.slots);
    void* stand_in = workspace;
    const auto q_heads = static_cast<int32_t>(state.shape.q_heads);
    const auto head_dim = static_cast<int32_t>(state.shape.head_dim);
    const auto value_dim = static_cast<int32_t>(state.shape.v_head_dim);

    check(driver().set_words(reinterpret_cast<CUdeviceptr>(workspace), 0, scratch.cleared_bytes / 4, on),
          "clearing the workspace");

    sm90::PreprocessParameters before{};
    before.mask = state.device_mask;
    before.out = tensors.out.data;
    before.dout = tensors.dout.data;
    before.out_batch_stride = tensors.out.strides[0];
    before.out_head_stride = tensors.out.strides[1];
    before.out_row_stride = tensors.out.strides[2];
    before.dout_batch_stride = tensors.dout.strides[0];
    before.dout_head_stride = tensors.dout.strides[1];
    before.dout_row_stride = tensors.dout.strides[2];
    before.lse = static_cast<const float*>(tensors.lse.data);
    before.dlse = static_cast<const float*>(tensors.dlse.data);
    before.lse_log2 = scratch.lse_log2;
    before.delta = scratch.delta;
    before.lse_batch_stride = tensors.lse.strides[0];
    before.lse_head_stride = tensors.lse.strides[1];
    before.lse_row_stride = tensors.lse.strides[2];
    before.dlse_batch_stride = tensors.dlse.strides[0];
    before.dlse_head_stride = tensors.dlse.strides[1];
    before.dlse_row_stride = tensors.dlse.strides[2];
    before.q_heads = q_heads;
    before.value_dim = value_dim;
    launch(state.of_dtype().backward_preprocess, "the backward's first kernel", state.slots, sm90::kRowThreads, 0, on,
           &before);

    sm90::BackwardParameters p{};
    p.q = tensor_map(tensors.q, 64, "q", stand_in);
    p.dout = tensor_map(tensors.dout, 64, "dout", stand_in);
    p.k = tensor_map(tensors.k, 128, "k", stand_in);
    p.v = tensor_map(tensors.v, 128, "v", stand_in);
    p.mask = state.device_mask;
    p.lse_log2 = scratch.lse_log2;
    p.delta = scratch.delta;
    p.dq_sums = scratch.dq_sums;
    p.dq_states = scratch.dq_states;
    p.dk = tensors.dk.data;
    p.dv = tensors.dv.data;
    p.dk_batch_stride = tensors.dk.strides[0];
    p.dk_head_stride = tensors.dk.strides[1];
    p.dk_row_stride = tensors.dk.strides[2];
    p.dv_batch_stride = tensors.dv.strides[0];
    p.dv_head_stride = tensors.dv.strides[1];
    p.dv_row_stride = tensors.dv.strides[2];
    p.counter = scratch.counter;
    p.batch = static_cast<int32_t>(state.shape.batch);
    p.kv_heads = static_cast<int32_t>(state.shape.kv_heads);
    p.heads_per_kv_head = q_heads / std::max(1, p.kv_heads);
    p.head_dim = head_dim;
    p.value_dim = value_dim;
    p.scale = s.natural;
    p.scale_log2 = s.log2;
    p.negate = s.negate;
    launch(state.of_dtype().backward, "the backward's main kernel", state.blocks(state.key_items), sm90::kThreads,
           sm90::kBackwardSharedBytes, on, &p);

    sm90::ConvertParameters after{};
    after.mask = state.device_mask;
    after.dq_sums = scratch.dq_sums;
    after.dq_states = scratch.dq_states;
    after.dq = tensors.dq.data;
    after.dq_batch_stride = tensors.dq.strides[0];
    after.dq_head_stride = tensors.dq.strides[1];
    after.dq_row_stride = tensors.dq.strides[2];
    after.q_heads = q_heads;
    after.head_dim = head_dim;
    after.scale = s.natural;
    launch(state.of_dtype().backward_convert, "the backward's last kernel", state.slots, sm90::kRowThreads, 0, on,
           &after);
}

}  // namespace jali::cuda

#include <cstring>
#include <vector>

#include "attention/cuda/device_memory.h"
#include "attention/cuda/driver.h"
#include "attention/cuda_engine.h"
#include "jali/cuda.h"
#include "jali/error.h"

namespace jali {

namespace {

using cuda::check;
using cuda::CurrentDevice;
using cuda::DeviceMemory;
using cuda::driver;

// Rows of a tensor, one after another, to a dense copy or back.
template <typename CopyRow>
void for_each_row(const TensorView& tensor, const CopyRow& copy) {
    int64_t row = 0;
    for (int64_t b = 0; b < tensor.shape[0]; ++b)
        for (int64_t h = 0; h < tensor.shape[1]; ++h)
            for (int64_t s = 0; s < tensor.shape[2]; ++s) copy(address(tensor, b, h, s), row++);
}

// A tensor's copy on the device, dense.
class Mirror {
   public:
    Mirror(const TensorView& host, int device) : host_(host) {
        if (host.data == nullptr && host.elements() != 0) return;
        row_bytes_ = host.shape[3] * bytes_of(host.dtype);
        memory_ = DeviceMemory(host.elements() * bytes_of(host.dtype), device);
        view_ = contiguous(memory_.pointer(), host.dtype, host.shape);
    }
    void upload(CUstream stream) {
        if (view_.data == nullptr) return;
        std::vector<std::byte> dense = buffer();
        for_each_row(host_, [&](const std::byte* row, int64_t i) {
            std::memcpy(dense.data() + i * row_bytes_, row, static_cast<size_t>(row_bytes_));
        });
        check(driver().copy_to_device(memory_.address(), dense.data(), dense.size(), stream), "copying to the GPU");
        check(driver().stream_synchronize(stream), "copying to the GPU");
    }
    void download(CUstream stream) const {
        if (view_.data == nullptr) return;
        std::vector<std::byte> dense = buffer();
        check(driver().copy_to_host(dense.data(), memory_.address(), dense.size(), stream), "copying from the GPU");
        check(driver().stream_synchronize(stream), "running attention on the GPU");
        for_each_row(host_, [&](std::byte* row, int64_t i) {
            std::memcpy(row, dense.data() + i * row_bytes_, static_cast<size_t>(row_bytes_));
        });
    }
    const TensorView& view() const { return view_; }

   private:
    std::vector<std::byte> buffer() const {
        return std::vector<std::byte>(static_cast<size_t>(host_.elements() * bytes_of(host_.dtype)));
    }

    TensorView host_;
    TensorView view_;  // null data where the host's is
    DeviceMemory memory_;
    int64_t row_bytes_ = 0;
};

struct OwnStream {
    CUstream stream = nullptr;
    OwnStream() { check(driver().stream_create(&stream, CU_STREAM_NON_BLOCKING), "opening a stream"); }
    ~OwnStream() { driver().stream_destroy(stream); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
};

// The first device that there are kernels for.
const cuda::DeviceInfo* usable_device() {
    static const std::vector<cuda::DeviceInfo> devices = cuda::devices();
    for (const cuda::DeviceInfo& device : devices)
        if (device.problem.empty()) return &device;
    return nullptr;
}

cuda::Shape shape_of(const TensorView& q, const TensorView& k, const TensorView& v) {
    return {.batch = q.shape[0],
            .q_heads = q.shape[1],
            .kv_heads = k.shape[1],
            .head_dim = q.shape[3],
            .v_head_dim = v.shape[3],
            .dtype = q.dtype};
}

std::string description() {
    return usable_device()->name + ", " + usable_device()->arch;
}

void forward(const ForwardCall& call) {
    const int device = usable_device()->index;
    const ForwardTensors& host = call.tensors;
    const CurrentDevice current(device);
    const OwnStream own;
    const cuda::Attention attention(call.mask, shape_of(host.q, host.k, host.v), device, own.stream);
    Mirror q(host.q, device), k(host.k, device), v(host.v, device), out(host.out, device);
    TensorView lse_view = host.lse;
    Mirror lse(lse_view, device);
    for (Mirror* mirror : {&q, &k, &v}) mirror->upload(own.stream);
    const DeviceMemory workspace(attention.forward_workspace_bytes(), device);
    attention.forward({q.view(), k.view(), v.view(), out.view(), lse.view()}, workspace.pointer(), own.stream,
                      call.scale);
    out.download(own.stream);
    lse.download(own.stream);
}

void backward(const BackwardCall& call) {
    const int device = usable_device()->index;
    const BackwardTensors& host = call.tensors;
    const CurrentDevice current(device);
    const OwnStream own;
    const cuda::Attention attention(call.mask, shape_of(host.q, host.k, host.v), device, own.stream);
    Mirror q(host.q, device), k(host.k, device), v(host.v, device), out(host.out, device), lse(host.lse, device),
        dout(host.dout, device), dlse(host.dlse, device), dq(host.dq, device), dk(host.dk, device), dv(host.dv, device);
    for (Mirror* mirror : {&q, &k, &v, &out, &lse, &dout, &dlse}) mirror->upload(own.stream);
    const DeviceMemory workspace(attention.backward_workspace_bytes(), device);
    attention.backward({q.view(), k.view(), v.view(), out.view(), lse.view(), dout.view(), dlse.view(), dq.view(),
                        dk.view(), dv.view()},
                       workspace.pointer(), own.stream, call.scale);
    for (const Mirror* mirror : {&dq, &dk, &dv}) mirror->download(own.stream);
}

}  // namespace

std::vector<Engine> cuda_engines() {
    if (usable_device() == nullptr) return {};
    return {{"cuda", description, forward, backward}};
}

}  // namespace jali

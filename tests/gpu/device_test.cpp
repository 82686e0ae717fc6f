// jali/cuda.h on device memory: layouts, streams, launches again and again, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "attention/cuda/device_memory.h"
#include "attention/cuda/driver.h"
#include "attention/rounding.h"
#include "gpu/gpu.h"
#include "jali/error.h"
#include "support/attention_masks.h"
#include "support/random_seed.h"

namespace jali {
namespace {

using cuda::DeviceMemory;
using test::engine_mask;
using test::GridKind;

constexpr int64_t kBatch = 2, kHeads = 4, kLength = 700, kDim = 64;

// bfloat16 bits of N(0, 1).
std::vector<uint16_t> drawn(int64_t elements, const std::string& name) {
    std::mt19937_64 random(test::seed_for(name));
    std::normal_distribution<float> normal;
    std::vector<uint16_t> bits;
    for (int64_t i = 0; i < elements; ++i)
        bits.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(normal(random)) >> 16));
    return bits;
}

class Buffer {
   public:
    explicit Buffer(int64_t bytes) : bytes_(static_cast<size_t>(bytes)), memory_(bytes, 0) { poison(); }
    explicit Buffer(const std::vector<uint16_t>& values) : Buffer(std::ssize(values) * 2) {
        cuda::check(cuda::driver().copy_to_device(memory_.address(), values.data(), bytes_, nullptr), "copying");
    }
    // NaN, whatever is read from it.
    void poison() { cuda::check(cuda::driver().set_words(memory_.address(), ~0U, bytes_ / 4, nullptr), "poisoning"); }
    std::vector<uint8_t> bytes() const {
        std::vector<uint8_t> host(bytes_);
        cuda::check(cuda::driver().copy_to_host(host.data(), memory_.address(), bytes_, nullptr), "copying");
        cuda::check(cuda::driver().stream_synchronize(nullptr), "copying");
        return host;
    }
    void* pointer() const { return memory_.pointer(); }

   private:
    size_t bytes_;
    DeviceMemory memory_;
};

class GpuDevice : public test::OnGpu {
   protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped() && !HasFatalFailure()) current_ = std::make_unique<cuda::CurrentDevice>(0);
    }
    std::unique_ptr<cuda::CurrentDevice> current_;
};

struct Problem {
    int64_t elements = kBatch * kHeads * kLength * kDim;
    BlockMask mask = engine_mask(test::engine_masks()[3], GridKind::kUneven, kBatch, kHeads, kLength, kLength);
    cuda::Attention attention{
        mask, {.batch = kBatch, .q_heads = kHeads, .kv_heads = kHeads, .head_dim = kDim, .v_head_dim = kDim}};
    Buffer q{drawn(elements, "q")}, k{drawn(elements, "k")}, v{drawn(elements, "v")}, dout{drawn(elements, "dout")};
    Buffer out{elements * 2}, lse{kBatch * kHeads * kLength * 4};
    Buffer dq{elements * 2}, dk{elements * 2}, dv{elements * 2};
    Buffer workspace{attention.backward_workspace_bytes()};

    TensorView view(const Buffer& buffer) const {
        return contiguous(buffer.pointer(), DType::kBFloat16, {kBatch, kHeads, kLength, kDim});
    }
    TensorView lse_view() const { return contiguous(lse.pointer(), DType::kFloat32, {kBatch, kHeads, kLength, 1}); }
    ForwardTensors forward_tensors() const { return {view(q), view(k), view(v), view(out), lse_view()}; }
    BackwardTensors backward_tensors() const {
        return {view(q), view(k), view(v), view(out), lse_view(), view(dout), {}, view(dq), view(dk), view(dv)};
    }
};

// Bits of the scratch must not matter, and blocks run in any order: races would show as differing bits.
TEST_F(GpuDevice, LaunchesGiveTheSameBitsWhateverTheScratchHolds) {
    Problem problem;
    problem.attention.forward(problem.forward_tensors(), problem.workspace.pointer());
    problem.attention.backward(problem.backward_tensors(), problem.workspace.pointer());
    const std::vector<uint8_t> out = problem.out.bytes(), lse = problem.lse.bytes(), dk = problem.dk.bytes(),
                               dv = problem.dv.bytes();
    for (int launch = 0; launch < 2000; ++launch) {
        const bool look = launch % 50 == 49;
        if (look)
            for (Buffer* buffer : {&problem.workspace, &problem.out, &problem.lse, &problem.dk, &problem.dv})
                buffer->poison();
        problem.attention.forward(problem.forward_tensors(), problem.workspace.pointer());
        problem.attention.backward(problem.backward_tensors(), problem.workspace.pointer());
        if (!look) continue;
        // dQ is summed in the order in which blocks arrive; all else has one order.
        ASSERT_EQ(problem.out.bytes(), out) << "launch " << launch;
        ASSERT_EQ(problem.lse.bytes(), lse) << "launch " << launch;
        ASSERT_EQ(problem.dk.bytes(), dk) << "launch " << launch;
        ASSERT_EQ(problem.dv.bytes(), dv) << "launch " << launch;
    }
}

// Stored (batch, sequence, heads, dimension), and keys shared by all batches through a stride of 0.
TEST_F(GpuDevice, StridesDoNotChangeABit) {
    Problem problem;
    problem.attention.forward(problem.forward_tensors(), problem.workspace.pointer());
    const std::vector<uint8_t> dense = problem.out.bytes();

    const std::vector<uint16_t> q = drawn(problem.elements, "q");
    std::vector<uint16_t> turned(q.size());
    for (int64_t b = 0; b < kBatch; ++b)
        for (int64_t h = 0; h < kHeads; ++h)
            for (int64_t s = 0; s < kLength; ++s)
                for (int64_t d = 0; d < kDim; ++d)
                    turned[static_cast<size_t>(((b * kLength + s) * kHeads + h) * kDim + d)] =
                        q[static_cast<size_t>(((b * kHeads + h) * kLength + s) * kDim + d)];
    const Buffer q_bshd(turned);
    ForwardTensors tensors = problem.forward_tensors();
    tensors.q = contiguous_bshd(q_bshd.pointer(), DType::kBFloat16, {kBatch, kHeads, kLength, kDim});
    problem.out.poison();
    problem.attention.forward(tensors, problem.workspace.pointer());
    EXPECT_EQ(problem.out.bytes(), dense);

    // Queries of batch 0 for both batches.
    tensors.q = problem.view(problem.q);
    tensors.q.strides[0] = 0;
    tensors.k.strides[0] = 0;
    tensors.v.strides[0] = 0;
    problem.out.poison();
    problem.attention.forward(tensors, problem.workspace.pointer());
    const std::vector<uint8_t> shared = problem.out.bytes();
    const std::vector<uint8_t> first(dense.begin(), dense.begin() + std::ssize(dense) / 2);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), shared.begin()));
}

TEST_F(GpuDevice, SeveralThreadsMayCallAtOnce) {
    Problem problem;
    problem.attention.forward(problem.forward_tensors(), problem.workspace.pointer());
    const std::vector<uint8_t> expected = problem.out.bytes();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            const cuda::CurrentDevice current(0);
            CUstream stream = nullptr;
            cuda::check(cuda::driver().stream_create(&stream, CU_STREAM_NON_BLOCKING), "opening a stream");
            const Buffer out(problem.elements * 2), workspace(problem.attention.forward_workspace_bytes());
            cuda::check(cuda::driver().stream_synchronize(nullptr), "waiting");
            ForwardTensors tensors = problem.forward_tensors();
            tensors.out = problem.view(out);
            tensors.lse.data = nullptr;
            for (int launch = 0; launch < 50; ++launch) problem.attention.forward(tensors, workspace.pointer(), stream);
            cuda::check(cuda::driver().stream_synchronize(stream), "waiting");
            EXPECT_EQ(out.bytes(), expected);
            cuda::driver().stream_destroy(stream);
        });
    for (std::thread& thread : threads) thread.join();
}

TEST_F(GpuDevice, RefusesWhatItCannotDoInOneSentence) {
    const BlockMask mask = engine_mask(test::engine_masks()[1], GridKind::kAligned, 1, 1, 128, 128);
    const auto refusal = [&](cuda::Shape shape, int device) -> std::string {
        try {
            const cuda::Attention attention(mask, shape, device);
        } catch (const Error& error) {
            return error.what();
        }
        return "none";
    };
    cuda::Shape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 64, .v_head_dim = 64};
    EXPECT_EQ(refusal(shape, 0), "none");
    shape.head_dim = 192;
    EXPECT_EQ(refusal(shape, 0),
              "the GPU engine is built for head dimensions that are multiples of 8 up to 128, not 192");
    shape.head_dim = 64;
    shape.kv_heads = 3;
    EXPECT_EQ(refusal(shape, 0), "4 query heads do not divide over 3 key heads");
    shape.kv_heads = 2;
    shape.dtype = DType::kFloat32;
    EXPECT_EQ(refusal(shape, 0), "the GPU engine takes bfloat16 and float16, not float32");
    shape.dtype = DType::kBFloat16;
    EXPECT_THAT(refusal(shape, 99), testing::StartsWith("finding device 99: "));
}

}  // namespace
}  // namespace jali

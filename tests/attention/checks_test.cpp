// What a call refuses, each with its exact message.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "jali/attention.h"
#include "jali/error.h"
#include "support/attention_masks.h"

namespace jali {
namespace {

// A call that fits: B 2, Hq 6, Hkv 3, Sq 1200, Skv 1100, D 64, Dv 32. Its memory is never touched.
struct Call {
    alignas(64) std::byte memory[64] = {};
    BackwardTensors t;
    BlockMask mask = mask_of(1, 1, 1200, 1100);
    AttentionOptions options;

    Call() {
        const auto rows = [this](int64_t heads, int64_t length, int64_t columns) {
            return contiguous(memory, DType::kBFloat16, {2, heads, length, columns});
        };
        t.q = t.dq = rows(6, 1200, 64);
        t.k = t.dk = rows(3, 1100, 64);
        t.v = t.dv = rows(3, 1100, 32);
        t.out = t.dout = rows(6, 1200, 32);
        t.lse = t.dlse = contiguous(memory, DType::kFloat32, {2, 6, 1200, 1});
    }

    static BlockMask mask_of(int64_t batch, int64_t heads, int64_t q_len, int64_t kv_len) {
        const Grid grid{test::aligned_tiles(q_len), test::aligned_tiles(kv_len)};
        return test::mask_from_bits(
            grid, [](int64_t, int64_t, int64_t, int64_t) { return false; }, batch, heads);
    }
};

std::string message_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

// The message of the forward and of the backward, which must agree.
std::string refusal(const std::function<void(Call&)>& spoil) {
    Call call;
    spoil(call);
    const BackwardTensors& t = call.t;
    const std::string forward = message_of([&] {
        attention_forward({t.q, t.k, t.v, t.out, t.lse}, call.mask, call.options);
    });
    EXPECT_EQ(forward, message_of([&] { attention_backward(t, call.mask, call.options); }));
    return forward;
}

std::string backward_refusal(const std::function<void(Call&)>& spoil) {
    Call call;
    spoil(call);
    return message_of([&] { attention_backward(call.t, call.mask, call.options); });
}

TEST(Checks, MaskOfOtherLengths) {
    EXPECT_EQ(refusal([](Call& c) { c.mask = Call::mask_of(1, 1, 1280, 1100); }),
              "block mask covers 1280 queries but q has 1200");
    EXPECT_EQ(refusal([](Call& c) { c.mask = Call::mask_of(1, 1, 1200, 1152); }),
              "block mask covers 1152 keys but k has 1100");
}

TEST(Checks, MaskOfOtherBatchesOrHeads) {
    EXPECT_EQ(refusal([](Call& c) { c.mask = Call::mask_of(3, 1, 1200, 1100); }),
              "block mask covers 3 batches but q has 2");
    EXPECT_EQ(refusal([](Call& c) { c.mask = Call::mask_of(1, 3, 1200, 1100); }),
              "block mask covers 3 heads but q has 6");
}

TEST(Checks, HeadsThatDoNotDivide) {
    EXPECT_EQ(refusal([](Call& c) { c.t.k.shape[1] = c.t.v.shape[1] = 4; }),
              "q has 6 heads, which is not a multiple of the 4 heads of k");
    EXPECT_EQ(refusal([](Call& c) { c.t.k.shape[1] = c.t.v.shape[1] = 0; }),
              "q has 6 heads, which is not a multiple of the 0 heads of k");
}

TEST(Checks, ShapesThatDisagree) {
    EXPECT_EQ(refusal([](Call& c) { c.t.k.shape[0] = 1; }), "k has batch 1 but q has 2");
    EXPECT_EQ(refusal([](Call& c) { c.t.v.shape[0] = 1; }), "v has batch 1 but k has 2");
    EXPECT_EQ(refusal([](Call& c) { c.t.v.shape[1] = 6; }), "v has heads 6 but k has 3");
    EXPECT_EQ(refusal([](Call& c) { c.t.v.shape[2] = 1099; }), "v has length 1099 but k has 1100");
    EXPECT_EQ(refusal([](Call& c) { c.t.k.shape[3] = 72; }), "k has head dimension 72 but q has 64");
    EXPECT_EQ(refusal([](Call& c) { c.t.out.shape[3] = 64; }),
              "out has shape (2, 6, 1200, 64) but q and v ask for (2, 6, 1200, 32)");
    EXPECT_EQ(refusal([](Call& c) { c.t.lse.shape[2] = 1199; }),
              "lse has shape (2, 6, 1199, 1) but q and out ask for (2, 6, 1200, 1)");
    EXPECT_EQ(refusal([](Call& c) { c.t.q.shape[2] = -1; }), "q has length -1 but an extent is at least 0");
}

TEST(Checks, ShapesOfTheBackward) {
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dout.shape[2] = 1201; }),
              "dout has shape (2, 6, 1201, 32) but q and v ask for (2, 6, 1200, 32)");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dlse.shape[1] = 3; }),
              "dlse has shape (2, 3, 1200, 1) but q and out ask for (2, 6, 1200, 1)");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dq.shape[3] = 56; }),
              "dq has shape (2, 6, 1200, 56) but q asks for (2, 6, 1200, 64)");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dk.shape[2] = 1200; }),
              "dk has shape (2, 3, 1200, 64) but k asks for (2, 3, 1100, 64)");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dv.shape[1] = 6; }),
              "dv has shape (2, 6, 1100, 32) but v asks for (2, 3, 1100, 32)");
}

TEST(Checks, DTypes) {
    EXPECT_EQ(refusal([](Call& c) { c.t.q.dtype = DType::kFloat64; }),
              "q is float64 but engines take float32, bfloat16 or float16");
    EXPECT_EQ(refusal([](Call& c) { c.t.k.dtype = DType::kFloat16; }), "k is float16 but q is bfloat16");
    EXPECT_EQ(refusal([](Call& c) { c.t.v.dtype = DType::kFloat32; }), "v is float32 but q is bfloat16");
    EXPECT_EQ(refusal([](Call& c) { c.t.out.dtype = DType::kFloat32; }), "out is float32 but q is bfloat16");
    EXPECT_EQ(refusal([](Call& c) { c.t.lse.dtype = DType::kBFloat16; }), "lse is bfloat16 but must be float32");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dlse.dtype = DType::kFloat64; }),
              "dlse is float64 but must be float32");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dout.dtype = DType::kFloat16; }), "dout is float16 but q is bfloat16");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dk.dtype = DType::kFloat32; }), "dk is float32 but q is bfloat16");
}

TEST(Checks, HeadDimensions) {
    EXPECT_EQ(refusal([](Call& c) { c.t.q.shape[3] = c.t.k.shape[3] = 100; }),
              "q has head dimension 100 but engines take multiples of 8 from 8 to 256");
    EXPECT_EQ(refusal([](Call& c) { c.t.q.shape[3] = c.t.k.shape[3] = 264; }),
              "q has head dimension 264 but engines take multiples of 8 from 8 to 256");
    EXPECT_EQ(refusal([](Call& c) { c.t.v.shape[3] = c.t.out.shape[3] = 0; }),
              "v has head dimension 0 but engines take multiples of 8 from 8 to 256");
}

TEST(Checks, StridesAndAlignment) {
    EXPECT_EQ(refusal([](Call& c) { c.t.k.strides[3] = 2; }), "k has stride 2 along the head dimension but needs 1");
    EXPECT_EQ(refusal([](Call& c) { c.t.q.strides[2] = 68; }),
              "q has a stride of 136 bytes along length but rows start at multiples of 16 bytes");
    EXPECT_EQ(refusal([](Call& c) { c.t.v.data = c.memory + 8; }),
              "v starts 8 bytes past a multiple of 16 but rows start at multiples of 16 bytes");
    EXPECT_EQ(refusal([](Call& c) { c.t.lse.data = c.memory + 2; }),
              "lse starts 2 bytes past a multiple of 4 but holds float32");
}

TEST(Checks, OutputsWhoseElementsOverlap) {
    Call call;
    call.t.out.strides[1] = 0;
    EXPECT_EQ(message_of([&] {
                  attention_forward({call.t.q, call.t.k, call.t.v, call.t.out, {}}, call.mask);
              }),
              "out is written, but its stride 0 along heads makes elements overlap that span 1");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dk.strides[2] = 32; }),
              "dk is written, but its stride 32 along length makes elements overlap that span 64");
}

TEST(Checks, MissingData) {
    EXPECT_EQ(refusal([](Call& c) { c.t.q.data = nullptr; }),
              "q has no data but shape (2, 6, 1200, 64), which is 921600 elements");
    EXPECT_EQ(refusal([](Call& c) { c.t.out.data = nullptr; }),
              "out has no data but shape (2, 6, 1200, 32), which is 460800 elements");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.lse.data = nullptr; }),
              "lse has no data but shape (2, 6, 1200, 1), which is 14400 elements");
    EXPECT_EQ(backward_refusal([](Call& c) { c.t.dv.data = nullptr; }),
              "dv has no data but shape (2, 3, 1100, 32), which is 211200 elements");
}

TEST(Checks, Options) {
    EXPECT_EQ(refusal([](Call& c) { c.options.scale = std::numeric_limits<double>::quiet_NaN(); }),
              "scale is nan but must be a finite float32 number");
    EXPECT_EQ(refusal([](Call& c) { c.options.scale = -std::numeric_limits<double>::infinity(); }),
              "scale is -inf but must be a finite float32 number");
    EXPECT_EQ(refusal([](Call& c) { c.options.scale = 1e300; }).substr(0, 12), "scale is 100");
    EXPECT_EQ(refusal([](Call& c) { c.options.threads = -2; }), "threads is -2 but must be 0 (all) or more");
    EXPECT_EQ(refusal([](Call& c) { c.options.engine = "sm90"; }), "engine \"sm90\" is unknown; this build has: cpu");
}

TEST(Checks, Environment) {
    const auto refusal_with = [](const char* name, const char* value) {
        setenv(name, value, 1);
        Call call;
        call.mask = Call::mask_of(1, 1, 1, 1);
        const TensorView one = contiguous(call.memory, DType::kBFloat16, {1, 1, 1, 8});
        const std::string message = message_of([&] {
            attention_forward({one, one, one, one, {}}, call.mask, call.options);
        });
        unsetenv(name);
        return message;
    };
    EXPECT_EQ(refusal_with("JALI_THREADS", "many"), "JALI_THREADS is \"many\" but must be a whole number from 1 on");
    EXPECT_EQ(refusal_with("JALI_THREADS", "0"), "JALI_THREADS is \"0\" but must be a whole number from 1 on");
    EXPECT_TRUE(refusal_with("JALI_CPU", "abacus").starts_with("JALI_CPU is \"abacus\" but this machine runs: "));
}

}  // namespace
}  // namespace jali

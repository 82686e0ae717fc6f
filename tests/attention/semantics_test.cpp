// What holds besides the values: empty rows, poison, layouts, determinism, one call beside another.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "attention/check.h"
#include "attention/rounding.h"
#include "support/attention_layouts.h"
#include "support/attention_masks.h"
#include "support/random_seed.h"

namespace jali {
namespace {

using reference::Shape;
using test::engine_mask;
using test::engine_masks;
using test::GridKind;
using test::Layout;
using test::NamedKeep;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

// Query 3, queries [128, 256) and keys [256, 384) have no pair; so do scattered others.
bool with_holes(int64_t, int64_t, int64_t q, int64_t kv) {
    return q != 3 && (q < 128 || q >= 256) && (kv < 256 || kv >= 384) && (q + kv) % 3 != 0;
}

AttentionCase case_of(const Shape& shape, DType dtype) {
    return draw_case(shape, dtype, InputKind::kNormal, test::seed_for("semantics"));
}

TEST(Semantics, RowsWithoutAKeyAreZeroWithMinusInfiniteLseAndNoGradient) {
    const Shape shape{.q_heads = 2, .q_len = 300, .kv_len = 500, .head_dim = 64, .v_head_dim = 32};
    for (const GridKind grid : {GridKind::kAligned, GridKind::kUneven})
        for (const DType dtype : kDTypes) {
            AttentionCase values = case_of(shape, dtype);
            // What autograd hands a row whose lse is infinite.
            for (int64_t h = 0; h < 2; ++h)
                for (int64_t q = 0; q < 300; ++q)
                    if (q == 3 || (q >= 128 && q < 256)) values.dlse[static_cast<size_t>(h * 300 + q)] = kNaN;
            const BlockMask mask = engine_mask({"", with_holes}, grid, 1, 1, 300, 500);
            const CaseResults results = engine_results(values, mask, Passes::kForwardAndBackward, {});
            for (int64_t row = 0; row < 600; ++row) {
                const int64_t q = row % 300;
                if (q != 3 && (q < 128 || q >= 256)) {
                    ASSERT_TRUE(std::isfinite(results.lse[static_cast<size_t>(row)]));
                    continue;
                }
                ASSERT_EQ(results.lse[static_cast<size_t>(row)], kMinusInfinity);
                for (int64_t d = 0; d < 32; ++d) ASSERT_EQ(results.out[static_cast<size_t>(row * 32 + d)], 0.0);
                for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(results.dq[static_cast<size_t>(row * 64 + d)], 0.0);
            }
            for (int64_t key = 256; key < 384; ++key) {
                for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(results.dk[static_cast<size_t>(key * 64 + d)], 0.0);
                for (int64_t d = 0; d < 32; ++d) ASSERT_EQ(results.dv[static_cast<size_t>(key * 32 + d)], 0.0);
            }
            for (const auto* tensor : {&results.out, &results.dq, &results.dk, &results.dv})
                for (const double value : *tensor) ASSERT_TRUE(std::isfinite(value));
        }
}

// A query with one key has P = 1 and dP = delta, whatever the order of sums.
TEST(Semantics, OneKeyARowGivesItsValueAndExactlyNoScoreGradient) {
    const NamedKeep diagonal{"", [](int64_t, int64_t, int64_t q, int64_t kv) { return q == kv; }};
    const Shape shape{.q_len = 200, .kv_len = 200, .head_dim = 72, .v_head_dim = 96};
    for (const DType dtype : kDTypes) {
        AttentionCase values = case_of(shape, dtype);
        std::fill(values.dlse.begin(), values.dlse.end(), 0.0);
        const CaseResults results = engine_results(values, engine_mask(diagonal, GridKind::kUneven, 1, 1, 200, 200),
                                                   Passes::kForwardAndBackward, {});
        EXPECT_EQ(results.out, values.v);
        EXPECT_EQ(results.dv, values.dout);
        EXPECT_EQ(results.dq, std::vector<double>(values.q.size(), 0.0));
        EXPECT_EQ(results.dk, std::vector<double>(values.k.size(), 0.0));
    }
}

// NaN and infinity in rows that no visited tile touches reach nothing.
TEST(Semantics, PoisonInUnvisitedTilesReachesNothing) {
    const NamedKeep mask{"", [](int64_t, int64_t, int64_t q, int64_t kv) { return q < 133 && kv < 133 && q >= kv; }};
    const Shape shape{.q_heads = 2, .kv_heads = 1, .q_len = 400, .kv_len = 450, .head_dim = 40, .v_head_dim = 48};
    for (const GridKind grid : {GridKind::kAligned, GridKind::kUneven}) {
        // The uneven grid has a line at 133 and one at 134; the aligned one at 256.
        const int64_t first = grid == GridKind::kAligned ? 256 : 133;
        const BlockMask block_mask = engine_mask(mask, grid, 1, 1, 400, 450);
        for (const DType dtype : kDTypes) {
            const AttentionCase clean = case_of(shape, dtype);
            AttentionCase poisoned = clean;
            const auto poison = [first](std::vector<double>& tensor, int64_t length, int64_t columns) {
                for (size_t i = 0; i < tensor.size(); ++i)
                    if (static_cast<int64_t>(i) / columns % length >= first)
                        tensor[i] = i % 2 == 0 ? kNaN : std::numeric_limits<double>::infinity();
            };
            poison(poisoned.q, 400, 40);
            poison(poisoned.k, 450, 40);
            poison(poisoned.v, 450, 48);
            poison(poisoned.dout, 400, 48);
            poison(poisoned.dlse, 400, 1);
            EXPECT_TRUE(test::same_bits(engine_results(clean, block_mask, Passes::kForwardAndBackward, {}),
                                        engine_results(poisoned, block_mask, Passes::kForwardAndBackward, {})))
                << name_of(dtype);
        }
    }
}

// A NaN among a query's own keys must show.
TEST(Semantics, NaNInAKeptKeyIsSeen) {
    const Shape shape{.q_len = 150, .kv_len = 150, .head_dim = 16, .v_head_dim = 16};
    AttentionCase values = case_of(shape, DType::kFloat32);
    values.k[16 * 140] = kNaN;
    const CaseResults results = engine_results(
        values, engine_mask(engine_masks()[1], GridKind::kAligned, 1, 1, 150, 150), Passes::kForward, {});
    for (size_t q = 0; q < 150; ++q) EXPECT_EQ(std::isnan(results.lse[q]), q >= 140) << q;
    for (size_t q = 140; q < 150; ++q) EXPECT_TRUE(std::isnan(results.out[16 * q]));
}

TEST(Semantics, EveryLayoutGivesTheSameBitsAndWritesNothingElse) {
    const NamedKeep mask = engine_masks()[3];
    const Shape shape{
        .batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 150, .kv_len = 170, .head_dim = 72, .v_head_dim = 40};
    const BlockMask block_mask = engine_mask(mask, GridKind::kUneven, 2, 4, 150, 170);
    for (const DType dtype : kDTypes) {
        const AttentionCase values = case_of(shape, dtype);
        const CaseResults dense = engine_results(values, block_mask, Passes::kForwardAndBackward, {});
        for (const Layout layout : {Layout::kDense, Layout::kBshd, Layout::kGaps, Layout::kFirstOfMany})
            EXPECT_TRUE(
                test::same_bits(dense, test::laid_out_results(values, block_mask, Passes::kForwardAndBackward, layout)))
                << name_of(dtype) << " " << test::name_of(layout);
    }
}

// k and v expanded over heads and batches, q over heads, dout over the sequence: stride 0.
TEST(Semantics, ExpandedInputsGiveTheSameBitsAsCopies) {
    const Shape shape{
        .batch = 2, .q_heads = 4, .kv_heads = 4, .q_len = 140, .kv_len = 260, .head_dim = 32, .v_head_dim = 24};
    const BlockMask mask = engine_mask(engine_masks()[2], GridKind::kAligned, 1, 1, 140, 260);
    AttentionCase values = case_of(shape, DType::kBFloat16);
    for (size_t i = 0; i < values.q.size(); ++i)
        values.q[i] = values.q[i / (4 * 140 * 32) * (4 * 140 * 32) + i % (140 * 32)];
    for (size_t i = 0; i < values.k.size(); ++i) values.k[i] = values.k[i % (260 * 32)];
    for (size_t i = 0; i < values.v.size(); ++i) values.v[i] = values.v[i % (260 * 24)];
    for (size_t i = 0; i < values.dout.size(); ++i) values.dout[i] = values.dout[i / (140 * 24) * (140 * 24) + i % 24];
    const CaseResults copies = engine_results(values, mask, Passes::kForwardAndBackward, {});

    const auto tensor = [&](std::array<int64_t, 4> at, const std::vector<double>& from) {
        return test::LaidOut(at, DType::kBFloat16, Layout::kDense, from);
    };
    const auto empty = [&](std::array<int64_t, 4> at, DType dtype) { return test::LaidOut(at, dtype, Layout::kDense); };
    const test::LaidOut q = tensor({2, 4, 140, 32}, values.q), k = tensor({2, 4, 260, 32}, values.k);
    const test::LaidOut v = tensor({2, 4, 260, 24}, values.v), dout = tensor({2, 4, 140, 24}, values.dout);
    const test::LaidOut dlse({2, 4, 140, 1}, DType::kFloat32, Layout::kDense, values.dlse);
    const test::LaidOut out = empty({2, 4, 140, 24}, DType::kBFloat16), lse = empty({2, 4, 140, 1}, DType::kFloat32);
    const test::LaidOut dq = empty({2, 4, 140, 32}, DType::kBFloat16), dk = empty({2, 4, 260, 32}, DType::kBFloat16);
    const test::LaidOut dv = empty({2, 4, 260, 24}, DType::kBFloat16);
    BackwardTensors t{q.view(),    k.view(),    v.view(),  out.view(), lse.view(),
                      dout.view(), dlse.view(), dq.view(), dk.view(),  dv.view()};
    t.q.strides[1] = 0;
    t.k.strides[0] = t.k.strides[1] = t.v.strides[0] = t.v.strides[1] = 0;
    t.dout.strides[2] = 0;
    attention_forward({t.q, t.k, t.v, t.out, t.lse}, mask);
    attention_backward(t, mask);
    const CaseResults expanded{out.values(), lse.values(), dq.values(), dk.values(), dv.values()};
    EXPECT_TRUE(test::same_bits(copies, expanded));
}

TEST(Semantics, ThreadsDoNotChangeABit) {
    const std::vector<NamedKeep> masks = engine_masks();
    for (const Shape& shape :
         {Shape{.q_len = 700, .kv_len = 900, .head_dim = 64, .v_head_dim = 64},
          Shape{
              .batch = 2, .q_heads = 6, .kv_heads = 3, .q_len = 300, .kv_len = 280, .head_dim = 32, .v_head_dim = 48}})
        for (const size_t index : {size_t{0}, size_t{1}, size_t{3}, size_t{7}})
            for (const GridKind grid : {GridKind::kAligned, GridKind::kUneven}) {
                const BlockMask mask =
                    engine_mask(masks[index], grid, shape.batch, shape.q_heads, shape.q_len, shape.kv_len);
                const AttentionCase values = case_of(shape, DType::kFloat32);
                const auto with = [&](int threads) {
                    AttentionOptions options;
                    options.threads = threads;
                    return engine_results(values, mask, Passes::kForwardAndBackward, options);
                };
                const CaseResults one = with(1);
                for (const int threads : {1, 2, 3, 7})
                    EXPECT_TRUE(test::same_bits(one, with(threads))) << masks[index].name << ", " << threads;
            }
}

TEST(Semantics, BroadcastMasksEqualOnesForEachHead) {
    const Shape shape{
        .batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 200, .kv_len = 220, .head_dim = 16, .v_head_dim = 16};
    NamedKeep mask = engine_masks()[7];
    const BlockMask broadcast = engine_mask(mask, GridKind::kUneven, 2, 4, 200, 220);
    mask.uses_head = true;
    const BlockMask each = engine_mask(mask, GridKind::kUneven, 2, 4, 200, 220);
    ASSERT_EQ(broadcast.heads() * broadcast.batch(), 1);
    ASSERT_EQ(each.heads() * each.batch(), 8);
    const AttentionCase values = case_of(shape, DType::kFloat16);
    EXPECT_TRUE(test::same_bits(engine_results(values, broadcast, Passes::kForwardAndBackward, {}),
                                engine_results(values, each, Passes::kForwardAndBackward, {})));
}

TEST(Semantics, DlseWithoutDataIsZeroAndLseWithoutDataIsNotWritten) {
    const Shape shape{.q_len = 150, .kv_len = 150, .head_dim = 16, .v_head_dim = 16};
    const BlockMask mask = engine_mask(engine_masks()[1], GridKind::kAligned, 1, 1, 150, 150);
    AttentionCase values = case_of(shape, DType::kFloat32);
    std::fill(values.dlse.begin(), values.dlse.end(), 0.0);
    const CaseResults zeros = engine_results(values, mask, Passes::kForwardAndBackward, {});
    const auto owned = [](std::array<int64_t, 4> at, const std::vector<double>& from) {
        return test::LaidOut(at, DType::kFloat32, Layout::kDense, from);
    };
    const std::array<int64_t, 4> rows{1, 1, 150, 16};
    const test::LaidOut q = owned(rows, values.q), k = owned(rows, values.k), v = owned(rows, values.v);
    const test::LaidOut dout = owned(rows, values.dout), lse = owned({1, 1, 150, 1}, zeros.lse);
    const test::LaidOut out(rows, DType::kFloat32, Layout::kDense), dq(rows, DType::kFloat32, Layout::kDense);
    const test::LaidOut dk(rows, DType::kFloat32, Layout::kDense), dv(rows, DType::kFloat32, Layout::kDense);
    attention_forward({q.view(), k.view(), v.view(), out.view(), {}}, mask);
    attention_backward(
        {q.view(), k.view(), v.view(), out.view(), lse.view(), dout.view(), {}, dq.view(), dk.view(), dv.view()}, mask);
    EXPECT_EQ(out.values(), zeros.out);
    EXPECT_TRUE(test::same_bits({zeros.out, zeros.lse, dq.values(), dk.values(), dv.values()}, zeros));
}

TEST(Semantics, ConcurrentCallsDoNotMeet) {
    const Shape shape{.q_heads = 2, .q_len = 300, .kv_len = 300, .head_dim = 32, .v_head_dim = 32};
    const BlockMask mask = engine_mask(engine_masks()[1], GridKind::kUneven, 1, 1, 300, 300);
    constexpr size_t kCalls = 4;
    std::vector<AttentionCase> values;
    std::vector<CaseResults> alone(kCalls), together(kCalls);
    AttentionOptions options;
    options.threads = 2;
    for (size_t i = 0; i < kCalls; ++i) {
        values.push_back(draw_case(shape, DType::kFloat32, InputKind::kNormal, test::run_seed() + i));
        alone[i] = engine_results(values[i], mask, Passes::kForwardAndBackward, options);
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kCalls; ++i)
        threads.emplace_back(
            [&, i] { together[i] = engine_results(values[i], mask, Passes::kForwardAndBackward, options); });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < kCalls; ++i) EXPECT_TRUE(test::same_bits(alone[i], together[i]));
}

// Two heads more than 2^31 elements apart, in memory of which only the touched pages exist.
TEST(Semantics, OffsetsPastTwoToThe31Elements) {
    constexpr int64_t kApart = (int64_t{1} << 31) + 4096;
    constexpr size_t kBytes = 2 * (kApart + (1 << 20));
    const Shape shape{.q_heads = 2, .kv_heads = 2, .q_len = 150, .kv_len = 150, .head_dim = 16, .v_head_dim = 16};
    const AttentionCase values = case_of(shape, DType::kBFloat16);
    const BlockMask mask = engine_mask(engine_masks()[1], GridKind::kAligned, 1, 1, 150, 150);
    const CaseResults expected = engine_results(values, mask, Passes::kForwardAndBackward, {});

    std::vector<void*> maps;
    const auto far = [&](const std::vector<double>* from) {
        void* memory =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no 4 GiB of address space");
        maps.push_back(memory);
        TensorView view = contiguous(memory, DType::kBFloat16, {1, 2, 150, 16});
        view.strides[1] = kApart;
        if (from != nullptr)
            for (int64_t i = 0; i < view.elements(); ++i)
                set_element(view, 0, i / (150 * 16), i / 16 % 150, i % 16, (*from)[static_cast<size_t>(i)]);
        return view;
    };
    const TensorView q = far(&values.q), k = far(&values.k), v = far(&values.v), dout = far(&values.dout);
    const TensorView out = far(nullptr), dq = far(nullptr), dk = far(nullptr), dv = far(nullptr);
    const test::LaidOut lse({1, 2, 150, 1}, DType::kFloat32, Layout::kDense);
    const test::LaidOut dlse({1, 2, 150, 1}, DType::kFloat32, Layout::kDense, values.dlse);
    attention_forward({q, k, v, out, lse.view()}, mask);
    attention_backward({q, k, v, out, lse.view(), dout, dlse.view(), dq, dk, dv}, mask);
    const auto read = [](const TensorView& view) {
        std::vector<double> result;
        for (int64_t i = 0; i < view.elements(); ++i)
            result.push_back(element(view, 0, i / (150 * 16), i / 16 % 150, i % 16));
        return result;
    };
    EXPECT_TRUE(test::same_bits(expected, {read(out), lse.values(), read(dq), read(dk), read(dv)}));
    for (void* memory : maps) munmap(memory, kBytes);
}

}  // namespace
}  // namespace jali

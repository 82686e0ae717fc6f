// Attention on the CPU: useful-pair GFLOP/s, 4 D a pair a head forward and 10 D backward.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jali/attention.h"

namespace {

using namespace jali;

// The packed documents of a public report of slow masked backward kernels, 32,768 tokens.
constexpr int64_t kDocuments[] = {684,  3119, 1653, 3776, 835,  2299, 707,  1383, 1545,
                                  2771, 3349, 2290, 2340, 1623, 1606, 1496, 600,  692};

struct Workload {
    std::string name;
    Predicate keep;
    int64_t length;
};

Workload workload(int64_t index) {
    using namespace jali::indices;
    if (index == 0) return {"full", Predicate(true), 4096};
    if (index == 1) return {"causal", q >= kv, 4096};
    if (index == 2) return {"window 1,024", q >= kv && q - kv < 1024, 16384};
    const Table documents = Table::documents("doc", kDocuments);
    return {"documents", documents[q] == documents[kv] && q >= kv, 32768};
}

// float16 and bfloat16 bits, or floats, that look like N(0, 1): sums of four uniform numbers.
void fill(std::vector<std::byte>& bytes, DType dtype, uint32_t seed) {
    uint32_t state = seed;
    const auto uniform = [&state] {
        state = state * 1664525 + 1013904223;
        return static_cast<float>(state >> 8) * 0x1p-24F - 0.5F;
    };
    for (size_t i = 0; i < bytes.size(); i += static_cast<size_t>(bytes_of(dtype))) {
        const float value = 1.73F * (uniform() + uniform() + uniform() + uniform());
        const auto bits = std::bit_cast<uint32_t>(value);
        const auto half = static_cast<uint16_t>(bits >> 16);
        if (dtype == DType::kFloat32)
            std::copy_n(reinterpret_cast<const std::byte*>(&bits), 4, &bytes[i]);
        else
            std::copy_n(reinterpret_cast<const std::byte*>(&half), 2, &bytes[i]);
    }
}

struct Tensors {
    std::vector<std::vector<std::byte>> storage;
    ForwardTensors forward;
    BackwardTensors backward;
};

Tensors make_tensors(DType dtype, int64_t heads, int64_t length, int64_t head_dim) {
    Tensors t;
    uint32_t seed = 1;
    const auto make = [&](DType type, int64_t columns) {
        t.storage.emplace_back(static_cast<size_t>(heads * length * columns * bytes_of(type)));
        fill(t.storage.back(), type, seed++);
        return contiguous(t.storage.back().data(), type, {1, heads, length, columns});
    };
    const TensorView q = make(dtype, head_dim), k = make(dtype, head_dim), v = make(dtype, head_dim);
    const TensorView out = make(dtype, head_dim), lse = make(DType::kFloat32, 1);
    t.forward = {q, k, v, out, lse};
    t.backward = {q,
                  k,
                  v,
                  out,
                  lse,
                  make(dtype, head_dim),
                  {},
                  make(dtype, head_dim),
                  make(dtype, head_dim),
                  make(dtype, head_dim)};
    return t;
}

// Arguments: workload, head dimension, threads.
template <bool kBackward, DType kDType>
void attention(benchmark::State& state) {
    constexpr int64_t kHeads = 2;
    const Workload work = workload(state.range(0));
    const int64_t head_dim = state.range(1);
    AttentionOptions options;
    options.threads = static_cast<int>(state.range(2));
    BuildOptions build;
    build.domain = {.q_len = work.length, .kv_len = work.length};
    const BlockMask mask = build_block_mask(work.keep, build);
    const int64_t pairs = statistics(mask, 1, kHeads).useful_pairs;
    const Tensors tensors = make_tensors(kDType, kHeads, work.length, head_dim);
    attention_forward(tensors.forward, mask, options);
    for (auto _ : state) {
        if constexpr (kBackward)
            attention_backward(tensors.backward, mask, options);
        else
            attention_forward(tensors.forward, mask, options);
    }
    const double flop = static_cast<double>(pairs * head_dim) * (kBackward ? 10.0 : 4.0);
    state.counters["useful_GFLOP/s"] =
        benchmark::Counter(flop * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.SetLabel(work.name + ", " + engines().front().description);
}

void arguments(benchmark::internal::Benchmark* b) {
    b->ArgNames({"mask", "head_dim", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond)->MinTime(1.0);
    for (const int64_t mask : {0, 1, 2, 3})
        for (const int64_t head_dim : {64, 128})
            for (const int64_t threads : {1, 2}) b->Args({mask, head_dim, threads});
}

BENCHMARK_TEMPLATE(attention, false, DType::kBFloat16)->Name("forward_bfloat16")->Apply(arguments);
BENCHMARK_TEMPLATE(attention, true, DType::kBFloat16)->Name("backward_bfloat16")->Apply(arguments);
BENCHMARK_TEMPLATE(attention, false, DType::kFloat32)->Name("forward_float32")->Apply(arguments);
BENCHMARK_TEMPLATE(attention, true, DType::kFloat32)->Name("backward_float32")->Apply(arguments);

}  // namespace

// Building block masks, on one core, beside a naive builder that evaluates every pair.
//
//     ./dev bench builder
//
// Counters: `figure_ms` is what the time must stay under, `MiB` the block mask, `naive_ms` the naive builder's time.
// The naive builder has the mask as inlined C++ and touches S x S pairs; beyond 8,192 tokens it runs on sampled rows
// and its time is scaled by the rows left out.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "jali/block_mask.h"

namespace jali {
namespace {

using namespace indices;

constexpr double kMebi = 1024.0 * 1024.0;

// keep(q, kv) as compiled code.
template <class Keep>
double naive_milliseconds(const Keep& keep, int64_t length) {
    const int64_t rows = std::min<int64_t>(length, 8192 * 8192 / length);
    const std::clock_t start = std::clock();  // processor time, as benchmarks report beside the wall clock
    std::vector<uint64_t> words(static_cast<size_t>((length + 63) / 64));
    for (int64_t sample = 0; sample < rows; ++sample) {
        const int64_t row = sample * (length / rows);
        std::fill(words.begin(), words.end(), 0);
        for (int64_t key = 0; key < length; ++key) {
            words[static_cast<size_t>(key / 64)] |= static_cast<uint64_t>(keep(row, key) ? 1 : 0) << (key % 64);
        }
        benchmark::DoNotOptimize(words.data());
        benchmark::ClobberMemory();
    }
    const double sampled = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return sampled * static_cast<double>(length) / static_cast<double>(rows);
}

// What must be met: 0 where nothing is asked.
struct Figure {
    double milliseconds;
};

template <class Keep>
void build(benchmark::State& state, const Predicate& predicate, const Keep& keep, int64_t length, Figure figure) {
    const BuildOptions options{.domain = {1, 1, length, length}};
    BuildStatistics built;
    int64_t bytes = 0;
    for (auto _ : state) {
        const BlockMask mask = build_block_mask(predicate, options, &built);
        bytes = mask.bytes();
        benchmark::DoNotOptimize(bytes);
    }
    state.counters["figure_ms"] = figure.milliseconds;
    state.counters["MiB"] = static_cast<double>(bytes) / kMebi;
    state.counters["decisions"] = static_cast<double>(built.interval_decisions);
    state.counters["evaluated_Mpairs"] = static_cast<double>(built.evaluated_pairs) / 1e6;
    state.counters["naive_ms"] = naive_milliseconds(keep, length);
}

std::vector<int64_t> ids_of(const std::vector<int64_t>& lengths) {
    std::vector<int64_t> ids;
    for (size_t i = 0; i < lengths.size(); ++i) {
        ids.insert(ids.end(), static_cast<size_t>(lengths[i]), static_cast<int64_t>(i));
    }
    return ids;
}

void build_documents(benchmark::State& state, const std::vector<int64_t>& lengths, Figure figure) {
    const std::vector<int64_t> ids = ids_of(lengths);
    const Table doc("doc", ids);
    const int64_t* const values = ids.data();
    build(
        state, doc[q] == doc[kv] && q >= kv,
        [values](int64_t row, int64_t key) { return values[row] == values[key] && row >= key; },
        static_cast<int64_t>(ids.size()), figure);
}

// The documents of the public report of a compiler that made FlashAttention-4's backward spill.
void ReportDocuments(benchmark::State& state) {
    build_documents(
        state, {684, 3119, 1653, 3776, 835, 2299, 707, 1383, 1545, 2771, 3349, 2290, 2340, 1623, 1606, 1496, 600, 692},
        {.milliseconds = 5});
}
BENCHMARK(ReportDocuments)->Unit(benchmark::kMillisecond);

void Documents512To4095(benchmark::State& state) {
    std::mt19937_64 random(0);
    std::vector<int64_t> lengths;
    for (int64_t left = state.range(0); left > 0; left -= lengths.back()) {
        lengths.push_back(std::min<int64_t>(left, 512 + static_cast<int64_t>(random() % 3584)));
    }
    build_documents(state, lengths, {.milliseconds = state.range(0) == 1 << 20 ? 200.0 : 0.0});
}
BENCHMARK(Documents512To4095)->RangeMultiplier(4)->Range(1 << 14, 1 << 20)->Unit(benchmark::kMillisecond);

void Causal(benchmark::State& state) {
    build(state, q >= kv, [](int64_t row, int64_t key) { return row >= key; }, state.range(0),
          {.milliseconds = state.range(0) == 1 << 20 ? 50.0 : 0.0});
}
BENCHMARK(Causal)->RangeMultiplier(4)->Range(1 << 14, 1 << 20)->Unit(benchmark::kMillisecond);

void Window1024(benchmark::State& state) {
    build(state, 0 <= q - kv && q - kv < 1024,
          [](int64_t row, int64_t key) { return 0 <= row - key && row - key < 1024; }, state.range(0),
          {.milliseconds = state.range(0) == 1 << 20 ? 100.0 : 0.0});
}
BENCHMARK(Window1024)->RangeMultiplier(4)->Range(1 << 14, 1 << 20)->Unit(benchmark::kMillisecond);

// A video of 30 frames of 48 x 80 tokens: each sees the 7 x 7 x 7 around it, moved inside at the borders.
void Neighbourhood30x48x80(benchmark::State& state) {
    const auto inside = [](const Expression& x, const Expression& y, int64_t extent) {
        return abs(clamp(x, 3, extent - 4) - y) <= 3;
    };
    const auto frame = [](const Expression& at) { return floor_div(at, 48 * 80); };
    const auto row = [](const Expression& at) { return floor_mod(floor_div(at, 80), 48); };
    const auto column = [](const Expression& at) { return floor_mod(at, 80); };
    const auto inside_value = [](int64_t x, int64_t y, int64_t extent) {
        return std::abs(std::clamp<int64_t>(x, 3, extent - 4) - y) <= 3;
    };
    build(state, inside(frame(q), frame(kv), 30) && inside(row(q), row(kv), 48) && inside(column(q), column(kv), 80),
          [inside_value](int64_t at, int64_t key) {
              return inside_value(at / 3840, key / 3840, 30) && inside_value(at / 80 % 48, key / 80 % 48, 48) &&
                     inside_value(at % 80, key % 80, 80);
          },
          30 * 48 * 80, {.milliseconds = 2000});
}
BENCHMARK(Neighbourhood30x48x80)->Unit(benchmark::kMillisecond);

void UnstructuredMatrix8192(benchmark::State& state) {
    std::mt19937_64 random(0);
    constexpr int64_t kLength = 8192;
    std::vector<uint8_t> kept(kLength * kLength);
    for (uint8_t& bit : kept) bit = random() % 2;
    const Table table = Table::booleans("keep", kept, {kLength, kLength});
    const uint8_t* const values = kept.data();
    build(state, table(q, kv), [values](int64_t row, int64_t key) { return values[row * kLength + key] != 0; }, kLength,
          {.milliseconds = 300});
}
BENCHMARK(UnstructuredMatrix8192)->Unit(benchmark::kMillisecond);

void RandomDocumentIds32768(benchmark::State& state) {
    std::mt19937_64 random(0);
    std::vector<int64_t> ids(32768);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 16);
    const Table doc("doc", ids);
    const int64_t* const values = ids.data();
    build(state, doc[q] == doc[kv], [values](int64_t row, int64_t key) { return values[row] == values[key]; }, 32768,
          {.milliseconds = 3000});
}
BENCHMARK(RandomDocumentIds32768)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace jali

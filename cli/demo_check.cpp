#include "cli/demo_check.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "attention/rounding.h"
#include "cli/progress.h"

namespace jali::cli {

namespace {

// Of all samples together; the reference takes about a second for a million.
constexpr int64_t kCheckedPairs = 6'000'000;

int64_t causal_pairs(int64_t length) {
    return length * (length + 1) / 2;
}

std::vector<SampledDocument> draw_samples(const std::vector<int64_t>& lengths, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<size_t> documents(lengths.size());
    std::iota(documents.begin(), documents.end(), size_t{0});
    std::shuffle(documents.begin(), documents.end(), random);
    std::vector<int64_t> heads(kDemoHeads);
    std::iota(heads.begin(), heads.end(), int64_t{0});
    std::shuffle(heads.begin(), heads.end(), random);

    std::vector<SampledDocument> samples;
    int64_t pairs = 0;
    for (const size_t document : documents) {
        const int64_t length = lengths[document];
        if (samples.size() == heads.size() || pairs + causal_pairs(length) > kCheckedPairs) continue;
        pairs += causal_pairs(length);
        const auto first = lengths.begin();
        const int64_t begin = std::accumulate(first, first + static_cast<std::ptrdiff_t>(document), int64_t{0});
        samples.push_back({.head = heads[samples.size()], .begin = begin, .length = length, .result = {}});
    }
    return samples;
}

// The rows of one document of one head, as float64.
std::vector<double> values_of(const OwnedTensor& tensor, const SampledDocument& sample) {
    const int64_t columns = tensor.view().shape[3];
    std::vector<double> values;
    values.reserve(static_cast<size_t>(sample.length * columns));
    for (int64_t row = sample.begin; row < sample.begin + sample.length; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
            values.push_back(element(tensor.view(), 0, sample.head, row, column));
        }
    }
    return values;
}

CheckResult check_sample(const DemoTensors& tensors, const SampledDocument& sample) {
    AttentionCase values;
    values.shape = {
        .q_len = sample.length, .kv_len = sample.length, .head_dim = kDemoHeadDim, .v_head_dim = kDemoHeadDim};
    values.dtype = kDemoDType;
    values.scale = double{static_cast<float>(1 / std::sqrt(static_cast<double>(kDemoHeadDim)))};
    values.q = values_of(tensors.q, sample);
    values.k = values_of(tensors.k, sample);
    values.v = values_of(tensors.v, sample);
    values.dout = values_of(tensors.dout, sample);
    values.dlse.assign(static_cast<size_t>(sample.length), 0);
    const CaseResults results{values_of(tensors.out, sample), values_of(tensors.lse, sample),
                              values_of(tensors.dq, sample), values_of(tensors.dk, sample),
                              values_of(tensors.dv, sample)};
    const reference::Keep causal = [](int64_t, int64_t, int64_t q, int64_t kv) { return q >= kv; };
    return compare_results(values, results, exact_results(values, causal, Passes::kForwardAndBackward),
                           naive_results(values, causal, Passes::kForwardAndBackward));
}

}  // namespace

std::vector<SampledDocument> check_sampled_documents(const DemoTensors& tensors, const std::vector<int64_t>& lengths,
                                                     uint64_t seed, int threads) {
    Progress progress("checking against float64");
    std::vector<SampledDocument> samples = draw_samples(lengths, seed);
    // Longest first, so that no thread begins the longest last.
    std::sort(samples.begin(), samples.end(), [](const auto& x, const auto& y) { return x.length > y.length; });
    std::atomic<size_t> next{0}, done{0};
    std::mutex failure_mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        try {
            for (size_t i = next++; i < samples.size(); i = next++) {
                samples[i].result = check_sample(tensors, samples[i]);
                progress.advance(static_cast<double>(++done) / static_cast<double>(samples.size()));
            }
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> workers;
    for (int i = 0; i < std::min(threads, static_cast<int>(samples.size())); ++i) workers.emplace_back(work);
    for (std::thread& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
    return samples;
}

std::vector<TensorVerdict> verdicts(const std::vector<SampledDocument>& samples) {
    std::vector<TensorVerdict> all;
    for (const SampledDocument& sample : samples) {
        for (size_t i = 0; i < sample.result.tensors.size(); ++i) {
            const TensorError& tensor = sample.result.tensors[i];
            if (i == all.size()) all.push_back({.name = tensor.name});
            TensorVerdict& verdict = all[i];
            verdict.rows += sample.length;
            verdict.rms_ratio = std::max(verdict.rms_ratio, tensor.rms / tensor.naive_rms);
            verdict.passed = verdict.passed && tensor.passed();
            const TileError& worst = *tensor.worst();
            if (verdict.allowed == 0 || worst.error * verdict.allowed > verdict.error * worst.allowed) {
                verdict.error = worst.error;
                verdict.allowed = worst.allowed;
            }
        }
    }
    return all;
}

}  // namespace jali::cli

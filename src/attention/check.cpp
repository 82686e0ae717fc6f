#include "attention/check.h"

#include <algorithm>
#include <chrono>
#include <memory>

namespace jali {

namespace {

constexpr int64_t kRememberedPairs = int64_t{1} << 31;  // one bit each

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// keep() asked once a pair: the reference, its backward and the yardstick each ask for all.
reference::Keep remembered(const reference::Keep& keep, const reference::Shape& n) {
    const int64_t pairs = n.q_len * n.kv_len, heads = n.batch * n.q_heads;
    if (pairs > 0 && heads > kRememberedPairs / pairs) return keep;
    auto kept = std::make_shared<std::vector<bool>>();
    kept->reserve(static_cast<size_t>(heads * pairs));
    for (int64_t head = 0; head < heads; ++head)
        for (int64_t pair = 0; pair < pairs; ++pair)
            kept->push_back(keep(head / n.q_heads, head % n.q_heads, pair / n.kv_len, pair % n.kv_len));
    return [kept, n](int64_t b, int64_t h, int64_t q, int64_t kv) {
        return (*kept)[static_cast<size_t>(((b * n.q_heads + h) * n.q_len + q) * n.kv_len + kv)];
    };
}

}  // namespace

bool CheckResult::passed() const {
    return std::all_of(tensors.begin(), tensors.end(), [](const TensorError& tensor) { return tensor.passed(); });
}

std::string CheckResult::failure() const {
    for (const TensorError& tensor : tensors)
        if (!tensor.passed()) return failure_of(tensor);
    return {};
}

CheckResult compare_results(const AttentionCase& values, const CaseResults& results, const CaseResults& exact,
                            const CaseResults& naive, double lse_rms_ratio) {
    const reference::Shape& n = values.shape;
    CheckResult result;
    const auto add = [&](const char* name, std::array<int64_t, 4> shape, std::vector<double> CaseResults::*tensor) {
        const bool is_lse = tensor == &CaseResults::lse;
        result.tensors.push_back(compare({.name = name,
                                          .shape = shape,
                                          .dtype = is_lse ? DType::kFloat32 : values.dtype,
                                          .largest_ratio = is_lse ? kLargestLseErrorRatio : kLargestErrorRatio,
                                          .rms_ratio = is_lse ? lse_rms_ratio : kRmsErrorRatio,
                                          .values = results.*tensor,
                                          .exact = exact.*tensor,
                                          .naive = naive.*tensor}));
    };
    add("out", {n.batch, n.q_heads, n.q_len, n.v_head_dim}, &CaseResults::out);
    add("lse", {n.batch, n.q_heads, n.q_len, 1}, &CaseResults::lse);
    if (exact.dq.empty() && exact.dk.empty() && exact.dv.empty()) return result;
    add("dq", {n.batch, n.q_heads, n.q_len, n.head_dim}, &CaseResults::dq);
    add("dk", {n.batch, n.kv_heads, n.kv_len, n.head_dim}, &CaseResults::dk);
    add("dv", {n.batch, n.kv_heads, n.kv_len, n.v_head_dim}, &CaseResults::dv);
    return result;
}

CheckResult check_engine(const BlockMask& mask, const reference::Keep& keep, const CheckOptions& options) {
    AttentionCase values = draw_case(options.shape, options.dtype, options.inputs, options.seed);
    if (options.attention.scale) values.scale = static_cast<double>(static_cast<float>(*options.attention.scale));
    auto start = std::chrono::steady_clock::now();
    const CaseResults results = engine_results(values, mask, options.passes, options.attention);
    const double engine_milliseconds = milliseconds_since(start);

    start = std::chrono::steady_clock::now();
    const reference::Keep kept = remembered(keep, options.shape);
    const CaseResults exact = exact_results(values, kept, options.passes);
    const double reference_milliseconds = milliseconds_since(start);
    const CaseResults naive = naive_results(values, kept, options.passes);
    CheckResult result = compare_results(values, results, exact, naive,
                                         options.attention.engine == "cpu" ? kRmsErrorRatio : kTensorCoreLseRmsRatio);
    result.engine_milliseconds = engine_milliseconds;
    result.reference_milliseconds = reference_milliseconds;
    return result;
}

}  // namespace jali

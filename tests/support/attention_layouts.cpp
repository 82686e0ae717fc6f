#include "support/attention_layouts.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "attention/rounding.h"

namespace jali::test {

namespace {

using Shape = std::array<int64_t, 4>;

constexpr int64_t kMargin = 64;  // elements before and after

Shape strides_of(const Shape& shape, Layout layout) {
    switch (layout) {
        case Layout::kDense:
            break;
        case Layout::kBshd:
            return contiguous_bshd(nullptr, DType::kFloat32, shape).strides;
        case Layout::kGaps: {
            const int64_t row = shape[3] + 8, head = row * shape[2] + 16, batch = head * shape[1] + 24;
            return {batch, head, row, 1};
        }
        case Layout::kFirstOfMany:
            return {2 * shape[1] * shape[2] * shape[3], 2 * shape[2] * shape[3], 2 * shape[3], 1};
    }
    return contiguous(nullptr, DType::kFloat32, shape).strides;
}

int64_t elements_reached(const Shape& shape, const Shape& strides) {
    int64_t reached = 1;
    for (size_t i = 0; i < 4; ++i) {
        if (shape[i] == 0) return 0;
        reached += (shape[i] - 1) * strides[i];
    }
    return reached;
}

template <class Visit>
void for_each(const TensorView& view, const Visit& visit) {
    for (int64_t b = 0; b < view.shape[0]; ++b)
        for (int64_t h = 0; h < view.shape[1]; ++h)
            for (int64_t s = 0; s < view.shape[2]; ++s)
                for (int64_t d = 0; d < view.shape[3]; ++d) visit(b, h, s, d);
}

// lse and dlse rows need no alignment: any stride will do, and an odd one shows it.
Shape lse_shape(const reference::Shape& n) {
    return {n.batch, n.q_heads, n.q_len, 1};
}

}  // namespace

std::string name_of(Layout layout) {
    switch (layout) {
        case Layout::kDense:
            return "Dense";
        case Layout::kBshd:
            return "Bshd";
        case Layout::kGaps:
            return "Gaps";
        case Layout::kFirstOfMany:
            return "FirstOfMany";
    }
    return "";
}

LaidOut::LaidOut(Shape shape, DType dtype, Layout layout) {
    const Shape strides = strides_of(shape, layout);
    const int64_t bytes = (elements_reached(shape, strides) + 2 * kMargin) * bytes_of(dtype);
    storage_.resize(static_cast<size_t>(bytes + 63) / 64);
    std::memset(storage_.data(), 0xff, storage_.size() * sizeof(Line));  // NaN in every dtype
    view_ = {reinterpret_cast<std::byte*>(storage_.data()) + kMargin * bytes_of(dtype), dtype, shape, strides};
}

LaidOut::LaidOut(Shape shape, DType dtype, Layout layout, const std::vector<double>& values)
    : LaidOut(shape, dtype, layout) {
    auto value = values.begin();
    for_each(view_, [&](int64_t b, int64_t h, int64_t s, int64_t d) { set_element(view_, b, h, s, d, *value++); });
}

std::vector<double> LaidOut::values() const {
    std::vector<double> values;
    for_each(view_, [&](int64_t b, int64_t h, int64_t s, int64_t d) { values.push_back(element(view_, b, h, s, d)); });
    return values;
}

bool LaidOut::surroundings_intact() const {
    std::vector<Line> copy = storage_;
    TensorView view = view_;
    view.data = reinterpret_cast<std::byte*>(copy.data()) + kMargin * bytes_of(view.dtype);
    for_each(view, [&](int64_t b, int64_t h, int64_t s, int64_t d) {
        const int64_t position = b * view.strides[0] + h * view.strides[1] + s * view.strides[2] + d * view.strides[3];
        std::memset(static_cast<std::byte*>(view.data) + position * bytes_of(view.dtype), 0xff,
                    static_cast<size_t>(bytes_of(view.dtype)));
    });
    for (const Line& line : copy)
        for (const std::byte byte : line.bytes)
            if (byte != std::byte{0xff}) return false;
    return true;
}

CaseResults laid_out_results(const AttentionCase& values, const BlockMask& mask, Passes passes, Layout layout,
                             AttentionOptions options) {
    const reference::Shape& n = values.shape;
    const Shape q_shape{n.batch, n.q_heads, n.q_len, n.head_dim}, k_shape{n.batch, n.kv_heads, n.kv_len, n.head_dim};
    const Shape v_shape{n.batch, n.kv_heads, n.kv_len, n.v_head_dim};
    const Shape out_shape{n.batch, n.q_heads, n.q_len, n.v_head_dim};
    const LaidOut q(q_shape, values.dtype, layout, values.q), k(k_shape, values.dtype, layout, values.k);
    const LaidOut v(v_shape, values.dtype, layout, values.v), dout(out_shape, values.dtype, layout, values.dout);
    const LaidOut dlse(lse_shape(n), DType::kFloat32, layout, values.dlse);
    const LaidOut out(out_shape, values.dtype, layout), lse(lse_shape(n), DType::kFloat32, layout);
    const LaidOut dq(q_shape, values.dtype, layout), dk(k_shape, values.dtype, layout);
    const LaidOut dv(v_shape, values.dtype, layout);
    options.scale = values.scale;
    attention_forward({q.view(), k.view(), v.view(), out.view(), lse.view()}, mask, options);
    CaseResults results{out.values(), lse.values(), {}, {}, {}};
    if (passes == Passes::kForwardAndBackward) {
        attention_backward({q.view(), k.view(), v.view(), out.view(), lse.view(), dout.view(), dlse.view(), dq.view(),
                            dk.view(), dv.view()},
                           mask, options);
        results.dq = dq.values();
        results.dk = dk.values();
        results.dv = dv.values();
    }
    for (const LaidOut* output : {&out, &lse, &dq, &dk, &dv})
        if (!output->surroundings_intact()) throw std::runtime_error("an engine wrote outside of an output");
    return results;
}

bool same_bits(const CaseResults& x, const CaseResults& y) {
    const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
        return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
    };
    return same(x.out, y.out) && same(x.lse, y.lse) && same(x.dq, y.dq) && same(x.dk, y.dk) && same(x.dv, y.dv);
}

}  // namespace jali::test

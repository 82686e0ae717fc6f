#include "attention/check_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <random>
#include <utility>

#include "attention/rounding.h"

namespace jali {

namespace {

using Shape4 = std::array<int64_t, 4>;

// Box-Muller on the generator's own bits: std::normal_distribution differs between standard libraries.
class Normal {
   public:
    explicit Normal(uint64_t seed) : bits_(seed) {}

    double operator()() {
        const double radius = std::sqrt(-2.0 * std::log(uniform()));
        return radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

   private:
    double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }

    std::mt19937_64 bits_;
};

std::vector<double> draw(Normal& normal, int64_t count, DType dtype, double factor = 1.0) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = rounded(factor * normal(), dtype);
    return values;
}

int64_t count_of(const Shape4& shape) {
    return shape[0] * shape[1] * shape[2] * shape[3];
}

struct Shapes {
    Shape4 q, k, v, out, lse;
};

Shapes shapes_of(const reference::Shape& n) {
    return {{n.batch, n.q_heads, n.q_len, n.head_dim},
            {n.batch, n.kv_heads, n.kv_len, n.head_dim},
            {n.batch, n.kv_heads, n.kv_len, n.v_head_dim},
            {n.batch, n.q_heads, n.q_len, n.v_head_dim},
            {n.batch, n.q_heads, n.q_len, 1}};
}

// A contiguous tensor with its own memory, aligned as engines need it.
class Owned {
   public:
    Owned(const Shape4& shape, DType dtype, const std::vector<double>& values)
        : storage_(static_cast<size_t>(count_of(shape) * bytes_of(dtype) + 63) / 64),
          view_(contiguous(storage_.data(), dtype, shape)) {
        auto value = values.begin();
        for_each([&](int64_t b, int64_t h, int64_t s, int64_t d) { set_element(view_, b, h, s, d, *value++); });
    }

    const TensorView& view() const { return view_; }

    std::vector<double> values() const {
        std::vector<double> values;
        values.reserve(static_cast<size_t>(view_.elements()));
        for_each([&](int64_t b, int64_t h, int64_t s, int64_t d) { values.push_back(element(view_, b, h, s, d)); });
        return values;
    }

   private:
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (int64_t b = 0; b < view_.shape[0]; ++b)
            for (int64_t h = 0; h < view_.shape[1]; ++h)
                for (int64_t s = 0; s < view_.shape[2]; ++s)
                    for (int64_t d = 0; d < view_.shape[3]; ++d) visit(b, h, s, d);
    }

    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::vector<Line> storage_;
    TensorView view_;
};

Owned poisoned(const Shape4& shape, DType dtype) {
    return {shape, dtype,
            std::vector<double>(static_cast<size_t>(count_of(shape)), std::numeric_limits<double>::quiet_NaN())};
}

reference::Inputs inputs_of(const AttentionCase& values) {
    return {values.shape, values.scale, values.q, values.k, values.v};
}

}  // namespace

AttentionCase draw_case(const reference::Shape& shape, DType dtype, InputKind kind, uint64_t seed) {
    Normal normal(seed);
    const Shapes shapes = shapes_of(shape);
    AttentionCase values;
    values.shape = shape;
    values.dtype = dtype;
    values.scale = static_cast<double>(
        static_cast<float>(1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(shape.head_dim, 1)))));
    values.q = draw(normal, count_of(shapes.q), dtype, kind == InputKind::kPeaked ? 8.0 : 1.0);
    values.k = draw(normal, count_of(shapes.k), dtype);
    values.v = draw(normal, count_of(shapes.v), dtype);
    values.dout = draw(normal, count_of(shapes.out), dtype);
    values.dlse = draw(normal, count_of(shapes.lse), DType::kFloat32);
    return values;
}

CaseResults exact_results(const AttentionCase& values, const reference::Keep& keep, Passes passes) {
    const reference::Inputs inputs = inputs_of(values);
    reference::Outputs outputs = reference::forward(inputs, keep);
    CaseResults results{std::move(outputs.out), std::move(outputs.lse), {}, {}, {}};
    if (passes == Passes::kForward) return results;
    reference::Gradients gradients = reference::backward(inputs, keep, values.dout, values.dlse);
    results.dq = std::move(gradients.dq);
    results.dk = std::move(gradients.dk);
    results.dv = std::move(gradients.dv);
    return results;
}

CaseResults engine_results(const AttentionCase& values, const BlockMask& mask, Passes passes,
                           AttentionOptions options) {
    const Shapes shapes = shapes_of(values.shape);
    const DType dtype = values.dtype;
    const Owned q(shapes.q, dtype, values.q), k(shapes.k, dtype, values.k), v(shapes.v, dtype, values.v);
    const Owned out = poisoned(shapes.out, dtype), lse = poisoned(shapes.lse, DType::kFloat32);
    options.scale = values.scale;
    attention_forward({q.view(), k.view(), v.view(), out.view(), lse.view()}, mask, options);
    CaseResults results{out.values(), lse.values(), {}, {}, {}};
    if (passes == Passes::kForward) return results;
    const Owned dout(shapes.out, dtype, values.dout), dlse(shapes.lse, DType::kFloat32, values.dlse);
    const Owned dq = poisoned(shapes.q, dtype), dk = poisoned(shapes.k, dtype), dv = poisoned(shapes.v, dtype);
    attention_backward({q.view(), k.view(), v.view(), out.view(), lse.view(), dout.view(), dlse.view(), dq.view(),
                        dk.view(), dv.view()},
                       mask, options);
    results.dq = dq.values();
    results.dk = dk.values();
    results.dv = dv.values();
    return results;
}

}  // namespace jali

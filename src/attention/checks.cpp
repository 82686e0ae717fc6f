#include "attention/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "jali/error.h"

namespace jali {

namespace {

constexpr int64_t kLargestHeadDim = 256;
constexpr int64_t kHeadDimStep = 8;
constexpr int64_t kAlignmentBytes = 16;

constexpr const char* kDimensionNames[4] = {"batch", "heads", "length", "head dimension"};

using Shape = std::array<int64_t, 4>;

std::string text_of(const Shape& shape) {
    return "(" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + ", " +
           std::to_string(shape[3]) + ")";
}

std::string text_of(DType dtype) {
    return std::string(name_of(dtype));
}

void require_shape(const char* name, const TensorView& tensor, const char* like, const Shape& shape) {
    if (tensor.shape == shape) return;
    throw Error(std::string(name) + " has shape " + text_of(tensor.shape) + " but " + like + " " + text_of(shape));
}

void require_same(const char* what, const char* x_name, int64_t x, const char* y_name, int64_t y) {
    if (x == y) return;
    throw Error(std::string(x_name) + " has " + what + " " + std::to_string(x) + " but " + y_name + " has " +
                std::to_string(y));
}

void require_dtype(const char* name, const TensorView& tensor, const char* like, DType dtype) {
    if (tensor.dtype == dtype) return;
    throw Error(std::string(name) + " is " + text_of(tensor.dtype) + " but " + like + " " + text_of(dtype));
}

// Tensors whose rows engines read as vectors: q, k, v, out and their gradients.
void check_rows(const char* name, const TensorView& tensor) {
    const int64_t columns = tensor.shape[3];
    if (columns < kHeadDimStep || columns > kLargestHeadDim || columns % kHeadDimStep != 0)
        throw Error(std::string(name) + " has head dimension " + std::to_string(columns) +
                    " but engines take multiples of 8 from 8 to " + std::to_string(kLargestHeadDim));
    if (tensor.elements() == 0) return;
    if (tensor.strides[3] != 1)
        throw Error(std::string(name) + " has stride " + std::to_string(tensor.strides[3]) +
                    " along the head dimension but needs 1");
    for (size_t dimension = 0; dimension < 3; ++dimension) {
        const int64_t bytes = tensor.strides[dimension] * bytes_of(tensor.dtype);
        if (tensor.shape[dimension] > 1 && bytes % kAlignmentBytes != 0)
            throw Error(std::string(name) + " has a stride of " + std::to_string(bytes) + " bytes along " +
                        kDimensionNames[dimension] + " but rows start at multiples of 16 bytes");
    }
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
    if (address % kAlignmentBytes != 0)
        throw Error(std::string(name) + " starts " + std::to_string(address % kAlignmentBytes) +
                    " bytes past a multiple of 16 but rows start at multiples of 16 bytes");
}

void require_data(const char* name, const TensorView& tensor) {
    if (tensor.data == nullptr && tensor.elements() != 0)
        throw Error(std::string(name) + " has no data but shape " + text_of(tensor.shape) + ", which is " +
                    std::to_string(tensor.elements()) + " elements");
}

// An output whose elements share memory would be written twice, by two threads. Dimensions are taken from the smallest
// stride up: each must step over everything that the ones before it reach.
void require_distinct(const char* name, const TensorView& tensor) {
    if (tensor.elements() == 0) return;
    std::array<size_t, 4> order{0, 1, 2, 3};
    std::sort(order.begin(), order.end(),
              [&tensor](size_t x, size_t y) { return std::abs(tensor.strides[x]) < std::abs(tensor.strides[y]); });
    int64_t reach = 1;
    for (const size_t dimension : order) {
        if (tensor.shape[dimension] <= 1) continue;
        const int64_t stride = std::abs(tensor.strides[dimension]);
        if (stride < reach)
            throw Error(std::string(name) + " is written, but its stride " + std::to_string(tensor.strides[dimension]) +
                        " along " + kDimensionNames[dimension] + " makes elements overlap that span " +
                        std::to_string(reach));
        reach += stride * (tensor.shape[dimension] - 1);
    }
}

void check_row_values(const char* name, const TensorView& tensor, const Shape& shape) {
    require_shape(name, tensor, "q and out ask for", shape);
    if (tensor.dtype != DType::kFloat32)
        throw Error(std::string(name) + " is " + text_of(tensor.dtype) + " but must be float32");
    if (reinterpret_cast<std::uintptr_t>(tensor.data) % sizeof(float) != 0)
        throw Error(std::string(name) + " starts " +
                    std::to_string(reinterpret_cast<std::uintptr_t>(tensor.data) % sizeof(float)) +
                    " bytes past a multiple of 4 but holds float32");
}

void check_no_negative_extent(const char* name, const TensorView& tensor) {
    for (size_t dimension = 0; dimension < 4; ++dimension)
        if (tensor.shape[dimension] < 0)
            throw Error(std::string(name) + " has " + kDimensionNames[dimension] + " " +
                        std::to_string(tensor.shape[dimension]) + " but an extent is at least 0");
}

void check_mask(const TensorView& q, const TensorView& k, const BlockMask& mask) {
    const auto require_covers = [](int64_t covered, const char* what, const char* name, int64_t length) {
        if (covered != length)
            throw Error("block mask covers " + std::to_string(covered) + " " + what + " but " + name + " has " +
                        std::to_string(length));
    };
    require_covers(mask.q_len(), "queries", "q", q.shape[2]);
    require_covers(mask.kv_len(), "keys", "k", k.shape[2]);
    if (mask.batch() != 1) require_covers(mask.batch(), "batches", "q", q.shape[0]);
    if (mask.heads() != 1) require_covers(mask.heads(), "heads", "q", q.shape[1]);
}

void check_options(const AttentionOptions& options) {
    if (options.scale && !std::isfinite(static_cast<float>(*options.scale)))
        throw Error("scale is " + std::to_string(*options.scale) + " but must be a finite float32 number");
    if (options.threads < 0)
        throw Error("threads is " + std::to_string(options.threads) + " but must be 0 (all) or more");
}

void check_inputs(const TensorView& q, const TensorView& k, const TensorView& v, const TensorView& out) {
    check_no_negative_extent("q", q);
    check_no_negative_extent("k", k);
    check_no_negative_extent("v", v);
    if (q.dtype == DType::kFloat64) throw Error("q is float64 but engines take float32, bfloat16 or float16");
    require_dtype("k", k, "q is", q.dtype);
    require_dtype("v", v, "q is", q.dtype);
    require_dtype("out", out, "q is", q.dtype);
    require_same("batch", "k", k.shape[0], "q", q.shape[0]);
    require_same("batch", "v", v.shape[0], "k", k.shape[0]);
    require_same("heads", "v", v.shape[1], "k", k.shape[1]);
    require_same("length", "v", v.shape[2], "k", k.shape[2]);
    require_same("head dimension", "k", k.shape[3], "q", q.shape[3]);
    if (k.shape[1] == 0 ? q.shape[1] != 0 : q.shape[1] % k.shape[1] != 0)
        throw Error("q has " + std::to_string(q.shape[1]) + " heads, which is not a multiple of the " +
                    std::to_string(k.shape[1]) + " heads of k");
    require_shape("out", out, "q and v ask for", {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
    check_rows("q", q);
    check_rows("k", k);
    check_rows("v", v);
    check_rows("out", out);
    require_data("q", q);
    require_data("k", k);
    require_data("v", v);
    require_data("out", out);
}

Shape row_shape(const TensorView& q) {
    return {q.shape[0], q.shape[1], q.shape[2], 1};
}

// dq, dk or dv.
void check_gradient(const char* name, const TensorView& tensor, const char* like, const TensorView& of) {
    require_shape(name, tensor, (std::string(like) + " asks for").c_str(), of.shape);
    require_dtype(name, tensor, "q is", of.dtype);
    check_rows(name, tensor);
    require_data(name, tensor);
    require_distinct(name, tensor);
}

}  // namespace

void check_forward(const ForwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options) {
    check_options(options);
    check_inputs(tensors.q, tensors.k, tensors.v, tensors.out);
    require_distinct("out", tensors.out);
    if (tensors.lse.data != nullptr) {
        check_row_values("lse", tensors.lse, row_shape(tensors.q));
        require_distinct("lse", tensors.lse);
    }
    check_mask(tensors.q, tensors.k, mask);
}

void check_backward(const BackwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options) {
    check_options(options);
    check_inputs(tensors.q, tensors.k, tensors.v, tensors.out);
    check_row_values("lse", tensors.lse, row_shape(tensors.q));
    require_data("lse", tensors.lse);
    require_shape("dout", tensors.dout, "q and v ask for", tensors.out.shape);
    require_dtype("dout", tensors.dout, "q is", tensors.q.dtype);
    check_rows("dout", tensors.dout);
    require_data("dout", tensors.dout);
    if (tensors.dlse.data != nullptr) check_row_values("dlse", tensors.dlse, row_shape(tensors.q));
    check_gradient("dq", tensors.dq, "q", tensors.q);
    check_gradient("dk", tensors.dk, "k", tensors.k);
    check_gradient("dv", tensors.dv, "v", tensors.v);
    check_mask(tensors.q, tensors.k, mask);
}

}  // namespace jali

#include "cli/owned_tensor.h"

#include <new>

namespace jali::cli {

namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

TensorView dense_view(void* data, DType dtype, std::array<int64_t, 4> shape, Layout layout) {
    return layout == Layout::kBhsd ? contiguous(data, dtype, shape) : contiguous_bshd(data, dtype, shape);
}

OwnedTensor::OwnedTensor(DType dtype, std::array<int64_t, 4> shape, Layout layout)
    : view_(dense_view(nullptr, dtype, shape, layout)) {
    const auto count = static_cast<size_t>(view_.elements() * bytes_of(dtype));
    bytes_.reset(static_cast<uint8_t*>(::operator new(count, kAlignment)));
    view_.data = bytes_.get();
}

std::span<uint8_t> OwnedTensor::bytes() const {
    return {bytes_.get(), static_cast<size_t>(view_.elements() * bytes_of(view_.dtype))};
}

void OwnedTensor::Free::operator()(uint8_t* bytes) const {
    ::operator delete(bytes, kAlignment);
}

}  // namespace jali::cli

// Tensors that the command itself holds in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "jali/tensor.h"

namespace jali::cli {

enum class Layout : uint8_t { kBhsd, kBshd };

// Aligned for every engine; the elements are uninitialised until something writes them.
class OwnedTensor {
   public:
    OwnedTensor() = default;
    // `shape` is (batch, heads, sequence, dimension) in either layout.
    OwnedTensor(DType dtype, std::array<int64_t, 4> shape, Layout layout = Layout::kBhsd);

    const TensorView& view() const { return view_; }
    std::span<uint8_t> bytes() const;

   private:
    struct Free {
        void operator()(uint8_t* bytes) const;
    };
    std::unique_ptr<uint8_t, Free> bytes_;
    TensorView view_;
};

// A view of dense elements in one of the two layouts.
TensorView dense_view(void* data, DType dtype, std::array<int64_t, 4> shape, Layout layout);

}  // namespace jali::cli

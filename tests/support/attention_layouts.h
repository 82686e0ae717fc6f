// Attention cases run through an engine with tensors laid out in any way, and the surroundings watched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/check_case.h"

namespace jali::test {

enum class Layout : uint8_t {
    kDense,       // (batch, heads, sequence, dimension)
    kBshd,        // stored (batch, sequence, heads, dimension)
    kGaps,        // 8 to 24 elements of NaN between rows, heads and batches, and before and after
    kFirstOfMany  // every second row of a tensor twice as long
};
std::string name_of(Layout layout);

// A tensor with its own memory; what lies between and around its elements is NaN.
class LaidOut {
   public:
    LaidOut(std::array<int64_t, 4> shape, DType dtype, Layout layout);
    LaidOut(std::array<int64_t, 4> shape, DType dtype, Layout layout, const std::vector<double>& values);

    const TensorView& view() const { return view_; }
    std::vector<double> values() const;
    // Whether every byte that belongs to no element is as it was.
    bool surroundings_intact() const;

   private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::vector<Line> storage_;
    TensorView view_;
};

// engine_results() with every tensor in `layout`; throws std::runtime_error where an output's surroundings changed.
CaseResults laid_out_results(const AttentionCase& values, const BlockMask& mask, Passes passes, Layout layout,
                             AttentionOptions options = {});

// The same bits in every tensor (NaN equals NaN).
bool same_bits(const CaseResults& x, const CaseResults& y);

}  // namespace jali::test

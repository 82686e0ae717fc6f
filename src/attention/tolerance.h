// How far from exact an engine may be, against a yardstick: the same maths done plainly in the tested dtype.
//
// In each tile of 128 rows of each (b, h) the largest error is at most twice the yardstick's, three times for lse;
// where the yardstick errs less than rounding the exact result may cost (half the distance between neighbours at the
// tile's largest value), that counts instead. Over a tensor of at least 4,096 elements the root of the mean square
// error is at most 1.1 times the yardstick's (three times for lse from tensor cores). A value that should be infinite
// must be; NaN is infinitely wrong.
//
// The largest of few errors is a matter of luck: two equally good computations differ twofold in one tile of some
// hundred. So the yardstick of a tile is the largest of what it says of
//   - the tile's rows, and as many around them as make 128 whose result is neither zero nor infinite (the end of a
//     sequence, rows that keep nothing);
//   - the same tile and its two neighbours in every (b, h), in proportion to their largest values.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "jali/tensor.h"

namespace jali {

inline constexpr double kLargestErrorRatio = 2.0;
inline constexpr double kLargestLseErrorRatio = 3.0;
inline constexpr double kRmsErrorRatio = 1.1;
// Of lse from tensor cores: their sums drop low bits that float32 sums keep.
inline constexpr double kTensorCoreLseRmsRatio = 3.0;
inline constexpr int64_t kRmsElements = 4096;

// The errors of 128 rows, or fewer at the end.
struct TileError {
    int64_t b = 0, h = 0, tile = 0;
    double error = 0;
    double naive_error = 0;  // the yardstick of the tile
    double allowed = 0;
    // The element that errs most.
    int64_t row = 0, column = 0;
    double value = 0, exact = 0;

    bool passed() const { return error <= allowed && error < std::numeric_limits<double>::infinity(); }
};

struct TensorError {
    std::string name;  // "out", "lse", "dq", "dk", "dv"
    int64_t elements = 0;
    double rms = 0, naive_rms = 0;
    double rms_ratio = kRmsErrorRatio;  // that is allowed
    double exact_rms = 0;               // of the exact values that are finite
    std::vector<TileError> tiles;       // by b, h, tile

    bool rms_passed() const;
    bool passed() const;
    // The tile with the largest error / allowed; null where the tensor has no element.
    const TileError* worst() const;
};

// One tensor's values, dense (batch, heads, sequence, dimension), with the dtype it was stored in.
struct Compared {
    std::string name;
    std::array<int64_t, 4> shape{};
    DType dtype = DType::kFloat32;
    double largest_ratio = kLargestErrorRatio;
    double rms_ratio = kRmsErrorRatio;
    std::span<const double> values, exact, naive;
};
TensorError compare(const Compared& tensor);

// One sentence about the first thing that failed: "dk (b 0, h 3, rows 128 to 255): ...". Empty where all passed.
std::string failure_of(const TensorError& error);

}  // namespace jali

#include "attention/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace jali {

namespace {

// A binary floating-point format.
struct Format {
    int fraction_bits;   // without the leading one
    int least_exponent;  // of normal numbers
    int largest_exponent;
};

Format format_of(DType dtype) {
    switch (dtype) {
        case DType::kBFloat16:
            return {7, -126, 127};
        case DType::kFloat16:
            return {10, -14, 15};
        case DType::kFloat32:
            return {23, -126, 127};
        case DType::kFloat64:
            break;
    }
    return {52, -1022, 1023};
}

// Distance between neighbours at |value|.
double spacing(double value, const Format& format) {
    int exponent = 0;
    std::frexp(value, &exponent);  // value = m * 2^exponent, m in [0.5, 1)
    return std::ldexp(1.0, std::max(exponent - 1, format.least_exponent) - format.fraction_bits);
}

std::byte* place(const TensorView& tensor, int64_t b, int64_t h, int64_t s, int64_t d) {
    const int64_t position =
        b * tensor.strides[0] + h * tensor.strides[1] + s * tensor.strides[2] + d * tensor.strides[3];
    return static_cast<std::byte*>(tensor.data) + position * bytes_of(tensor.dtype);
}

template <class T>
T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void write(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

double from_half(uint16_t bits, const Format& format) {
    const int exponent_bits = 15 - format.fraction_bits;
    const int exponent = bits >> format.fraction_bits & ((1 << exponent_bits) - 1);
    const int fraction = bits & ((1 << format.fraction_bits) - 1);
    const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sign * std::numeric_limits<double>::infinity();
    const int leading = exponent == 0 ? 0 : 1 << format.fraction_bits;
    return sign *
           std::ldexp(leading + fraction, std::max(exponent - 1, 0) + format.least_exponent - format.fraction_bits);
}

// `value` is one of the format.
uint16_t to_half(double value, const Format& format) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const int all_ones = ((1 << (15 - format.fraction_bits)) - 1) << format.fraction_bits;
    if (std::isnan(value)) return static_cast<uint16_t>(sign | all_ones | 1 << (format.fraction_bits - 1));
    if (std::isinf(value)) return static_cast<uint16_t>(sign | all_ones);
    if (value == 0.0) return static_cast<uint16_t>(sign);  // 0 has no binade
    const double magnitude = std::abs(value), step = spacing(value, format);
    const int significand = static_cast<int>(magnitude / step);
    const int binade = static_cast<int>(std::lround(std::log2(step))) + format.fraction_bits - format.least_exponent;
    // A normal significand has its leading bit set, which adds one to the exponent field.
    return static_cast<uint16_t>(sign | ((binade << format.fraction_bits) + significand));
}

}  // namespace

double rounded(double value, DType dtype) {
    if (!std::isfinite(value) || value == 0.0 || dtype == DType::kFloat64) return value;
    const Format format = format_of(dtype);
    const double step = spacing(value, format);
    const double nearest = std::nearbyint(value / step) * step;
    if (std::abs(nearest) < std::ldexp(1.0, format.largest_exponent + 1)) return nearest;
    return std::copysign(std::numeric_limits<double>::infinity(), value);
}

double rounding_of(double value, DType dtype) {
    if (value == 0.0 || !std::isfinite(value)) return 0.0;
    return 0.5 * spacing(value, format_of(dtype));
}

double element(const TensorView& tensor, int64_t b, int64_t h, int64_t s, int64_t d) {
    const std::byte* from = place(tensor, b, h, s, d);
    switch (tensor.dtype) {
        case DType::kFloat32:
            return static_cast<double>(read<float>(from));
        case DType::kBFloat16:
        case DType::kFloat16:
            return from_half(read<uint16_t>(from), format_of(tensor.dtype));
        case DType::kFloat64:
            return read<double>(from);
    }
    return 0.0;
}

void set_element(const TensorView& tensor, int64_t b, int64_t h, int64_t s, int64_t d, double value) {
    std::byte* to = place(tensor, b, h, s, d);
    switch (tensor.dtype) {
        case DType::kFloat32:
            return write(to, static_cast<float>(value));
        case DType::kBFloat16:
        case DType::kFloat16:
            return write(to, to_half(rounded(value, tensor.dtype), format_of(tensor.dtype)));
        case DType::kFloat64:
            return write(to, value);
    }
}

}  // namespace jali

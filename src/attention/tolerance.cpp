#include "attention/tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "attention/rounding.h"

namespace jali {

namespace {

constexpr int64_t kRows = 128;

double error_of(double value, double exact) {
    if (value == exact) return 0.0;
    const double error = std::abs(value - exact);
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

// error / allowed, for telling which tile is the worst.
double ratio_of(const TileError& tile) {
    if (tile.error == 0.0) return 0.0;
    return tile.allowed == 0.0 ? std::numeric_limits<double>::infinity() : tile.error / tile.allowed;
}

TileError compare_tile(const Compared& tensor, TileError tile) {
    const auto [batch, heads, length, columns] = tensor.shape;
    double rounding = 0.0;
    for (int64_t row = tile.tile * kRows; row < std::min(length, (tile.tile + 1) * kRows); ++row)
        for (int64_t column = 0; column < columns; ++column) {
            const auto i = static_cast<size_t>(((tile.b * heads + tile.h) * length + row) * columns + column);
            const double error = error_of(tensor.values[i], tensor.exact[i]);
            tile.naive_error = std::max(tile.naive_error, error_of(tensor.naive[i], tensor.exact[i]));
            rounding = std::max(rounding, rounding_of(tensor.exact[i], tensor.dtype));
            const bool first = row == tile.tile * kRows && column == 0;
            if (!first && error <= tile.error) continue;
            tile.error = error;
            tile.row = row;
            tile.column = column;
            tile.value = tensor.values[i];
            tile.exact = tensor.exact[i];
        }
    tile.allowed = tensor.largest_ratio * std::max(tile.naive_error, rounding);
    return tile;
}

std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

}  // namespace

bool TensorError::rms_passed() const {
    return elements < kRmsElements || rms <= kRmsErrorRatio * naive_rms;
}

bool TensorError::passed() const {
    return rms_passed() && std::all_of(tiles.begin(), tiles.end(), [](const TileError& tile) { return tile.passed(); });
}

const TileError* TensorError::worst() const {
    const auto worst = std::max_element(
        tiles.begin(), tiles.end(), [](const TileError& x, const TileError& y) { return ratio_of(x) < ratio_of(y); });
    return worst == tiles.end() ? nullptr : &*worst;
}

TensorError compare(const Compared& tensor) {
    TensorError result;
    result.name = tensor.name;
    result.elements = static_cast<int64_t>(tensor.exact.size());
    double sum = 0, naive_sum = 0, exact_sum = 0;
    for (size_t i = 0; i < tensor.exact.size(); ++i) {
        const double error = error_of(tensor.values[i], tensor.exact[i]);
        const double naive_error = error_of(tensor.naive[i], tensor.exact[i]);
        sum += error * error;
        naive_sum += naive_error * naive_error;
        if (std::isfinite(tensor.exact[i])) exact_sum += tensor.exact[i] * tensor.exact[i];
    }
    if (result.elements > 0) {
        const auto count = static_cast<double>(result.elements);
        result.rms = std::sqrt(sum / count);
        result.naive_rms = std::sqrt(naive_sum / count);
        result.exact_rms = std::sqrt(exact_sum / count);
    }
    if (tensor.shape[3] == 0) return result;
    for (int64_t b = 0; b < tensor.shape[0]; ++b)
        for (int64_t h = 0; h < tensor.shape[1]; ++h)
            for (int64_t tile = 0; tile * kRows < tensor.shape[2]; ++tile)
                result.tiles.push_back(compare_tile(tensor, {.b = b, .h = h, .tile = tile}));
    return result;
}

std::string failure_of(const TensorError& error) {
    for (const TileError& tile : error.tiles)
        if (!tile.passed())
            return error.name + " (b " + std::to_string(tile.b) + ", h " + std::to_string(tile.h) + ", row " +
                   std::to_string(tile.row) + ", column " + std::to_string(tile.column) + ") is " +
                   text_of(tile.value) + " and should be " + text_of(tile.exact) + ": off by " + text_of(tile.error) +
                   ", and its tile is allowed " + text_of(tile.allowed);
    if (!error.rms_passed())
        return error.name + " has a root mean square error of " + text_of(error.rms) + " and is allowed " +
               text_of(kRmsErrorRatio * error.naive_rms);
    return {};
}

}  // namespace jali

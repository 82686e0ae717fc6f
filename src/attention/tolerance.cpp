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

// A tensor by row of (b, h).
struct Row {
    double naive_error = 0;  // the largest of the row
    double magnitude = 0;    // of the largest exact value, where finite
    bool telling = false;    // whether the exact values are neither zero nor infinite throughout
};

std::vector<Row> rows_of(const Compared& tensor) {
    const auto columns = static_cast<size_t>(tensor.shape[3]);
    std::vector<Row> rows(tensor.exact.size() / columns);
    for (size_t i = 0; i < tensor.exact.size(); ++i) {
        Row& row = rows[i / columns];
        // Where the plain computation itself overflows it is no yardstick.
        const double naive_error = error_of(tensor.naive[i], tensor.exact[i]);
        if (std::isfinite(naive_error)) row.naive_error = std::max(row.naive_error, naive_error);
        if (tensor.exact[i] == 0.0 || !std::isfinite(tensor.exact[i])) continue;
        row.magnitude = std::max(row.magnitude, std::abs(tensor.exact[i]));
        row.telling = true;
    }
    return rows;
}

// The yardstick of one tile of one (b, h): its rows, and as many around them as make 128 that tell something.
struct Yardstick {
    double error = 0;
    double magnitude = 0;  // of the largest exact value
};

Yardstick yardstick_of(std::span<const Row> rows, int64_t tile) {
    const int64_t length = std::ssize(rows);
    int64_t begin = tile * kRows, end = std::min(length, begin + kRows), telling = 0;
    Yardstick yardstick;
    const auto take = [&](int64_t at) {
        const Row& row = rows[static_cast<size_t>(at)];
        yardstick.error = std::max(yardstick.error, row.naive_error);
        yardstick.magnitude = std::max(yardstick.magnitude, row.magnitude);
        telling += row.telling ? 1 : 0;
    };
    for (int64_t row = begin; row < end; ++row) take(row);
    while (telling < kRows && (begin > 0 || end < length)) {
        if (begin > 0) take(--begin);
        if (end < length) take(end++);
    }
    return yardstick;
}

// Yardsticks by (b, h) and tile, each raised to what the same and the neighbouring tiles of the other (b, h) say in
// proportion to their values.
std::vector<double> naive_errors_of(const Compared& tensor) {
    const int64_t heads = tensor.shape[0] * tensor.shape[1], length = tensor.shape[2];
    const int64_t tiles = (length + kRows - 1) / kRows;
    const std::vector<Row> rows = rows_of(tensor);
    std::vector<Yardstick> yardsticks;
    std::vector<double> largest(static_cast<size_t>(tiles), 0.0);  // error / magnitude, over (b, h)
    for (int64_t i = 0; i < heads * tiles; ++i) {
        const auto of_head =
            std::span(rows).subspan(static_cast<size_t>(i / tiles * length), static_cast<size_t>(length));
        const Yardstick& yardstick = yardsticks.emplace_back(yardstick_of(of_head, i % tiles));
        double& ratio = largest[static_cast<size_t>(i % tiles)];
        if (yardstick.magnitude > 0.0) ratio = std::max(ratio, yardstick.error / yardstick.magnitude);
    }
    std::vector<double> errors;
    for (int64_t i = 0; i < heads * tiles; ++i) {
        const auto tile = static_cast<size_t>(i % tiles);
        double ratio = largest[tile];
        if (tile > 0) ratio = std::max(ratio, largest[tile - 1]);
        if (tile + 1 < largest.size()) ratio = std::max(ratio, largest[tile + 1]);
        const Yardstick& yardstick = yardsticks[static_cast<size_t>(i)];
        errors.push_back(std::max(yardstick.error, ratio * yardstick.magnitude));
    }
    return errors;
}

TileError compare_tile(const Compared& tensor, TileError tile) {
    const auto [batch, heads, length, columns] = tensor.shape;
    double rounding = 0.0;
    for (int64_t row = tile.tile * kRows; row < std::min(length, (tile.tile + 1) * kRows); ++row)
        for (int64_t column = 0; column < columns; ++column) {
            const auto i = static_cast<size_t>(((tile.b * heads + tile.h) * length + row) * columns + column);
            const double error = error_of(tensor.values[i], tensor.exact[i]);
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
    return elements < kRmsElements || (std::isfinite(rms) && rms <= rms_ratio * naive_rms);
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
    result.rms_ratio = tensor.rms_ratio;
    result.elements = static_cast<int64_t>(tensor.exact.size());
    double sum = 0, naive_sum = 0, exact_sum = 0;
    for (size_t i = 0; i < tensor.exact.size(); ++i) {
        const double error = error_of(tensor.values[i], tensor.exact[i]);
        const double naive_error = error_of(tensor.naive[i], tensor.exact[i]);
        sum += error * error;
        if (std::isfinite(naive_error)) naive_sum += naive_error * naive_error;
        if (std::isfinite(tensor.exact[i])) exact_sum += tensor.exact[i] * tensor.exact[i];
    }
    if (result.elements > 0) {
        const auto count = static_cast<double>(result.elements);
        result.rms = std::sqrt(sum / count);
        result.naive_rms = std::sqrt(naive_sum / count);
        result.exact_rms = std::sqrt(exact_sum / count);
    }
    if (tensor.exact.empty()) return result;
    const std::vector<double> naive_errors = naive_errors_of(tensor);
    const int64_t tiles = (tensor.shape[2] + kRows - 1) / kRows;
    for (const double naive_error : naive_errors) {
        const auto i = std::ssize(result.tiles);
        result.tiles.push_back(compare_tile(tensor, {.b = i / tiles / tensor.shape[1],
                                                     .h = i / tiles % tensor.shape[1],
                                                     .tile = i % tiles,
                                                     .naive_error = naive_error}));
    }
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
               text_of(error.rms_ratio * error.naive_rms);
    return {};
}

}  // namespace jali

// The values of a table, and the pyramid that answers min and max over index ranges.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "jali/table.h"
#include "mask/range_pyramid.h"

namespace jali {

struct Table::Storage {
    TableType type;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;   // row-major, in elements
    std::vector<int64_t> integers;  // one of the two holds the values
    std::vector<uint8_t> booleans;  // 0 or 1
    int64_t size = 0;

    int64_t value(int64_t position) const {
        return type == TableType::kBoolean ? booleans[static_cast<size_t>(position)]
                                           : integers[static_cast<size_t>(position)];
    }

    // Min and max over row-major positions [first, last], not empty.
    ValueRange range(int64_t first, int64_t last) const;

   private:
    mutable std::once_flag pyramid_once_;
    mutable std::optional<RangePyramid<int64_t>> integer_pyramid_;
    mutable std::optional<RangePyramid<uint8_t>> boolean_pyramid_;
};

}  // namespace jali

// NumPy's .npy files: integer and boolean arrays in, boolean arrays out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.h"

namespace jali::io {

// An array in row-major order, whatever the order of the file. A boolean one has its values (0 or 1) in `booleans`
// and an integer one in `integers`; the other is empty.
struct NpyArray {
    bool is_boolean = false;
    std::vector<int64_t> shape;
    std::vector<int64_t> integers;
    std::vector<uint8_t> booleans;
};

// Reads versions 1 to 3, both byte orders, C and Fortran order; bool, int8 to int64, uint8 to uint64.
// Throws FileError naming the file where it is no such thing, is longer or shorter than its shape says, or holds a
// value past 2^63 - 1.
NpyArray read_npy(const std::filesystem::path& path);
// The same from bytes; `file` is what errors call them.
NpyArray decode_npy(std::span<const uint8_t> bytes, std::string_view file);

// Writes a boolean array row by row (last dimension), so that an array larger than memory can be written.
class NpyBooleanWriter {
   public:
    // No extent of `shape` may be negative. Throws FileError.
    NpyBooleanWriter(const std::filesystem::path& path, std::span<const int64_t> shape);

    // One byte, 0 or 1, an element; shape.back() of them.
    void write_row(std::span<const uint8_t> row);
    // Puts the file in place once all rows are written. Throws FileError.
    void commit();

   private:
    AtomicFile file_;
    int64_t row_bytes_ = 0;
    int64_t rows_left_ = 0;
};

}  // namespace jali::io

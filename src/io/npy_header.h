// The text at the start of a .npy file: a Python dictionary of three members.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jali::io {

struct NpyHeader {
    std::string descr;  // NumPy's name of the element type: '<i8', '|b1', ...
    bool fortran_order = false;
    std::vector<int64_t> shape;
    size_t data_begin = 0;  // bytes before the first element
};

// Throws FileError naming `file` where `bytes` do not begin with a header that NumPy would write.
NpyHeader parse_npy_header(std::span<const uint8_t> bytes, std::string_view file);
// Version 1, a multiple of 64 bytes.
std::string format_npy_header(std::string_view descr, std::span<const int64_t> shape);

}  // namespace jali::io

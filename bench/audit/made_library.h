// A shared library of many kernels: a few distinct ones assembled once, then copied under other names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace jali::bench {

using Bytes = std::vector<uint8_t>;

struct LibraryShape {
    int64_t kernels = 10000;
    int64_t kernels_each = 4;     // in a cubin; a cubin is a fat binary by itself
    int64_t distinct = 8;         // cubins that are assembled
    int64_t instructions = 7700;  // of a kernel, about
    bool compressed = false;      // each cubin by zstd, as nvcc 13 does
};

// Cubins of kernels that loop, spill and touch every memory. Throws std::runtime_error with the assembler's words.
std::vector<Bytes> assemble_cubins(const std::filesystem::path& ptxas, const LibraryShape& shape);

// Writes the library and returns its size.
int64_t write_library(const std::filesystem::path& path, const std::vector<Bytes>& cubins, const LibraryShape& shape);

}  // namespace jali::bench

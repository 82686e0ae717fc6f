// Every bit of a mask, row by row: memory is one row, whatever the mask's size.
#pragma once

#include <filesystem>
#include <string>

#include "jali/block_mask.h"
#include "jali/predicate.h"

namespace jali::cli {

// SHA-256 of one byte 0 or 1 a pair, row-major over the domain's (b, h, q, kv); a broadcast mask repeats.
std::string sha256_of(const BlockMask& mask, const Domain& domain);

// The same bytes as a boolean .npy array of shape (batch, heads, q_len, kv_len). Throws FileError; `path` is then as
// it was.
void write_dense(const BlockMask& mask, const Domain& domain, const std::filesystem::path& path);

}  // namespace jali::cli

// The CPU engine: tiled attention with an online softmax (Milakov and Gimelshein 2018; FlashAttention-2, Dao 2023,
// algorithms 1 and 2), driven by the block mask alone.
#pragma once

#include "attention/call.h"
#include "attention/cpu/primitives.h"

namespace jali::cpu {

void forward(const ForwardCall& call);
void backward(const BackwardCall& call);

// Rows [tile.begin, tile.begin + tile.rows) of one (b, h) of a tensor.
inline StoredRows tile_rows(const TensorView& tensor, int64_t b, int64_t h, Tile tile) {
    return {address(tensor, b, h, tile.begin), tensor.strides[2] * bytes_of(tensor.dtype), tensor.dtype, tile.rows,
            static_cast<int32_t>(tensor.shape[3])};
}

// Two words a key of the pairs kept in a tile pair of this run, or null.
inline const uint64_t* transposed_words(const BlockMask& mask, const Run& run) {
    return run.stencil == kFull ? nullptr : mask.transposed_stencils()[static_cast<size_t>(run.stencil)].words.data();
}

}  // namespace jali::cpu

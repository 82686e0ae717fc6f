#include "support/attention_masks.h"

#include <algorithm>
#include <span>

namespace jali::test {

std::vector<NamedKeep> engine_masks() {
    return {
        {"Full", [](int64_t, int64_t, int64_t, int64_t) { return true; }},
        {"Causal", [](int64_t, int64_t, int64_t q, int64_t kv) { return q >= kv; }},
        {"Window", [](int64_t, int64_t, int64_t q, int64_t kv) { return q >= kv && q - kv < 70; }},
        {"Scattered",
         [](int64_t b, int64_t h, int64_t q, int64_t kv) { return (7 * q + 13 * kv + 5 * h + 3 * b) % 11 < 3; }, true},
        {"Diagonal", [](int64_t, int64_t, int64_t q, int64_t kv) { return q == kv; }},
        {"FarKeys", [](int64_t, int64_t, int64_t q, int64_t kv) { return kv > q + 150; }},
        {"Nothing", [](int64_t, int64_t, int64_t, int64_t) { return false; }},
        // Query tiles 1 and 2 and key tile 0 are empty (on the aligned grid), so are some rows and columns elsewhere.
        {"Holes", [](int64_t, int64_t, int64_t q,
                     int64_t kv) { return (q < 128 || q >= 384) && kv >= 128 && q % 5 != 2 && kv % 7 != 3; }},
    };
}

std::vector<Tile> uneven_tiles(int64_t length) {
    constexpr int32_t kLengths[] = {5, 128, 1, 77, 128, 128, 16, 127, 3, 64, 17};
    std::vector<int32_t> lengths;
    for (size_t i = 0; length > 0; ++i) {
        lengths.push_back(static_cast<int32_t>(std::min<int64_t>(kLengths[i % std::size(kLengths)], length)));
        length -= lengths.back();
    }
    return tiles_of_lengths(lengths);
}

BlockMask engine_mask(const NamedKeep& mask, GridKind grid, int64_t batch, int64_t heads, int64_t q_len,
                      int64_t kv_len) {
    const auto tiles = [grid](int64_t length) {
        return grid == GridKind::kAligned ? aligned_tiles(length) : uneven_tiles(length);
    };
    return mask_from_bits({tiles(q_len), tiles(kv_len)}, mask.keep, mask.uses_head ? batch : 1,
                          mask.uses_head ? heads : 1);
}

}  // namespace jali::test

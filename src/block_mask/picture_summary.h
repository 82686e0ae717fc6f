// The numbers and words that pictures of a block mask carry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jali/block_mask.h"

namespace jali {

// Of one (batch, head).
struct PictureSummary {
    int64_t q_len = 0, kv_len = 0;
    int64_t kept_pairs = 0;
    TileCounts tiles;
};
PictureSummary summarize(const BlockMask& mask, int64_t b, int64_t h);

// 1234567 as "1,234,567".
std::string grouped(int64_t number);
// "1 query", "1,024 queries".
std::string counted(int64_t number, std::string_view singular, std::string_view plural);
// "50.05%"; never "0.00%" where something is kept, nor "100.00%" where not all is.
std::string percentage(int64_t kept, int64_t pairs);

}  // namespace jali

// 64-bit operations of a kernel's PTX against the 32-bit ones that do the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace jali::audit {

struct WidthCount {
    int64_t of_32 = 0, of_64 = 0;
};

// Instructions by their first word ("selp", "mov", "setp") with a type of 32 or 64 bits (b32, u32, s32, f32 and their
// like), of the entry `name`; of the whole text where it has no such entry.
std::map<std::string, WidthCount> widths_of(std::string_view ptx, std::string_view name);

}  // namespace jali::audit

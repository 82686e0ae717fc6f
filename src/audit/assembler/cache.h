// What assemblers made, kept by content in the user's cache. Any number of processes may use it at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/assembler/command_line.h"

namespace jali::audit {

struct CachedAssembly {
    std::string log;
    double milliseconds = 0;  // that it took
    std::vector<uint8_t> cubin;
};

// By everything that decides the result: the PTX as the assembler gets it, the assembler's bytes, the options and the
// files that they name, architecture and route. Throws FileError where such a file cannot be read.
std::string cache_key(std::string_view ptx, const Variant& variant);

// Nothing where there is none, or where it is damaged. Marks it as used.
std::optional<CachedAssembly> load_cached(const std::string& key);
// What cannot be written is not cached, and is no error.
void store_cached(const std::string& key, const CachedAssembly& assembly) noexcept;
// Removes the longest unused until the rest takes at most `limit_bytes`.
void shrink_cache(int64_t limit_bytes) noexcept;

inline constexpr int64_t kCacheLimitBytes = int64_t{2} << 30;

}  // namespace jali::audit

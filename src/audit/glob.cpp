#include "audit/glob.h"

#include <cstddef>

namespace jali::audit {

bool matches_glob(std::string_view text, std::string_view pattern) {
    size_t at = 0, in_pattern = 0;
    // Where to go on when what follows the last * does not fit: that * takes one byte more.
    size_t star = std::string_view::npos, star_at = 0;
    while (at < text.size()) {
        if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
            star = in_pattern++;
            star_at = at;
        } else if (in_pattern < pattern.size() && (pattern[in_pattern] == '?' || pattern[in_pattern] == text[at])) {
            ++in_pattern;
            ++at;
        } else if (star != std::string_view::npos) {
            in_pattern = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
    return in_pattern == pattern.size();
}

}  // namespace jali::audit

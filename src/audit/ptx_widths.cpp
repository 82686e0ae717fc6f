#include "audit/ptx_widths.h"

#include <cctype>

namespace jali::audit {

namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// From the entry's name to the brace that closes its body; all of it where there is no such entry.
std::string_view body_of(std::string_view ptx, std::string_view name) {
    for (size_t at = ptx.find(".entry"); at != std::string_view::npos; at = ptx.find(".entry", at + 1)) {
        size_t begin = ptx.find_first_not_of(" \t\r\n", at + 6);
        if (begin == std::string_view::npos || ptx.substr(begin, name.size()) != name) continue;
        begin += name.size();
        if (begin < ptx.size() && is_word(ptx[begin])) continue;
        const size_t next = ptx.find(".entry", begin);
        return ptx.substr(begin, next == std::string_view::npos ? next : next - begin);
    }
    return ptx;
}

// 32 or 64 of ".b32", ".f64x2"; 0 of anything else. A packed pair of 32-bit values is 64 bits wide.
int width_of(std::string_view type) {
    if (type.size() < 3 || std::string_view("bsuf").find(type[0]) == std::string_view::npos) return 0;
    const std::string_view digits = type.substr(1);
    if (digits == "32") return 32;
    if (digits == "64" || digits == "32x2") return 64;
    return 0;
}

}  // namespace

std::map<std::string, WidthCount> widths_of(std::string_view ptx, std::string_view name) {
    std::map<std::string, WidthCount> counts;
    std::string_view body = body_of(ptx, name);
    while (!body.empty()) {
        const size_t end = body.find('\n');
        std::string_view line = body.substr(0, end);
        body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
        // "@%p1 selp.b64 %rd1, ...": past the guard.
        line.remove_prefix(std::min(line.find_first_not_of(" \t{"), line.size()));
        if (line.starts_with('@')) {
            line.remove_prefix(std::min(line.find_first_of(" \t"), line.size()));
            line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        }
        if (line.empty() || std::islower(static_cast<unsigned char>(line[0])) == 0) continue;
        const std::string_view word = line.substr(0, line.find_first_of(" \t;"));
        const size_t dot = word.find('.');
        if (dot == std::string_view::npos) continue;
        // The last type counts: cvt.u64.u32 reads 32 bits.
        int width = 0;
        for (size_t at = dot; at != std::string_view::npos; at = word.find('.', at + 1)) {
            const std::string_view part = word.substr(at + 1, word.find('.', at + 1) - at - 1);
            if (width_of(part) != 0) width = width_of(part);
        }
        if (width == 32) ++counts[std::string(word.substr(0, dot))].of_32;
        if (width == 64) ++counts[std::string(word.substr(0, dot))].of_64;
    }
    return counts;
}

}  // namespace jali::audit

#include "audit/ar_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr std::string_view kMagic = "!<arch>\n", kThinMagic = "!<thin>\n";
constexpr size_t kHeaderBytes = 60;
constexpr size_t kNameBytes = 16, kSizeOffset = 48, kSizeBytes = 10, kEndOffset = 58;

[[noreturn]] void fail(uint64_t offset, const std::string& how) {
    throw FileError(fmt::format("archive member at offset {} {}", offset, how));
}

std::string_view without_spaces(std::string_view text) {
    return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::optional<uint64_t> number(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// GNU: "/17" is the name at byte 17 of the member "//", up to "/\n".
std::string_view long_name(std::string_view names, uint64_t at, uint64_t offset) {
    if (at >= names.size()) fail(offset, fmt::format("has its name at byte {} of {}", at, names.size()));
    const std::string_view rest = names.substr(at);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    return line.ends_with('/') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace

void read_ar(std::span<const uint8_t> bytes, const std::function<void(const ArMember&)>& on_member) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.starts_with(kThinMagic)) throw FileError("archive is thin: its members are other files, read those");
    if (!text.starts_with(kMagic)) throw FileError("archive has no magic at offset 0");
    std::string_view names;
    for (size_t offset = kMagic.size(); offset < text.size();) {
        if (text.size() - offset < kHeaderBytes)
            fail(offset,
                 fmt::format("ends after {} of the {} bytes of its header", text.size() - offset, kHeaderBytes));
        const std::string_view header = text.substr(offset, kHeaderBytes);
        if (header.substr(kEndOffset) != "`\n") fail(offset, "has no end of its header");
        const std::string_view size_text = without_spaces(header.substr(kSizeOffset, kSizeBytes));
        const std::optional<uint64_t> size = number(size_text);
        if (!size.has_value()) fail(offset, fmt::format("says '{}' bytes", size_text));
        const size_t begin = offset + kHeaderBytes;
        if (*size > text.size() - begin)
            fail(offset, fmt::format("says {} bytes and {} are left", *size, text.size() - begin));

        ArMember member{std::string(without_spaces(header.substr(0, kNameBytes))), begin, bytes.subspan(begin, *size)};
        if (member.name == "//") {
            names = text.substr(begin, *size);
        } else if (member.name.starts_with("#1/")) {
            // BSD: the name stands before the bytes.
            const uint64_t length = number(std::string_view(member.name).substr(3)).value_or(*size + 1);
            if (length > *size) fail(offset, fmt::format("says a name '{}' in {} bytes", member.name, *size));
            const std::string_view name = text.substr(begin, length);
            member = {std::string(name.substr(0, name.find('\0'))), begin + length, member.bytes.subspan(length)};
            if (!member.name.starts_with("__.SYMDEF")) on_member(member);
        } else if (member.name != "/" && member.name != "/SYM64/") {
            if (const auto at = number(std::string_view(member.name).substr(std::min<size_t>(1, member.name.size())));
                member.name.starts_with('/') && at.has_value())
                member.name = long_name(names, *at, offset);
            else if (member.name.ends_with('/'))
                member.name.pop_back();
            on_member(member);
        }
        offset = begin + *size + *size % 2;
    }
}

}  // namespace jali::audit

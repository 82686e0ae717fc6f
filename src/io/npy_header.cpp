#include "io/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "jali/error.h"

namespace jali::io {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr size_t kMaximumRank = 32;

// A cursor over the dictionary's text.
struct DictionaryParser {
    std::string_view text;
    std::string_view file;
    size_t position = 0;

    [[noreturn]] void fail(std::string_view expected) const {
        throw FileError(fmt::format("'{}' has a malformed .npy header: expected {} at byte {} of its dictionary", file,
                                    expected, position));
    }

    void skip_spaces() {
        while (position < text.size() && (text[position] == ' ' || text[position] == '\n' || text[position] == '\t')) {
            ++position;
        }
    }

    bool accept(char character) {
        skip_spaces();
        if (position == text.size() || text[position] != character) return false;
        ++position;
        return true;
    }

    void expect(char character) {
        if (!accept(character)) fail(fmt::format("'{}'", character));
    }

    bool accept_word(std::string_view word) {
        skip_spaces();
        if (!text.substr(position).starts_with(word)) return false;
        position += word.size();
        return true;
    }

    std::string_view string(std::string_view what) {
        skip_spaces();
        if (position == text.size() || (text[position] != '\'' && text[position] != '"')) fail(what);
        const size_t end = text.find(text[position], position + 1);
        if (end == std::string_view::npos) fail("the end of a string");
        const std::string_view value = text.substr(position + 1, end - position - 1);
        position = end + 1;
        return value;
    }

    bool boolean() {
        if (accept_word("True")) return true;
        if (accept_word("False")) return false;
        fail("True or False");
    }

    int64_t extent() {
        skip_spaces();
        const size_t begin = position;
        int64_t value = 0;
        for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
            const int64_t digit = text[position] - '0';
            if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) fail("an extent below 2^63");
            value = 10 * value + digit;
        }
        if (position == begin) fail("an extent");
        accept('L');  // Python 2 wrote long integers so
        return value;
    }

    std::vector<int64_t> shape() {
        expect('(');
        std::vector<int64_t> extents;
        while (!accept(')')) {
            if (extents.size() == kMaximumRank) fail(fmt::format("at most {} extents", kMaximumRank));
            extents.push_back(extent());
            if (accept(')')) break;
            expect(',');
        }
        return extents;
    }

    // A list is how NumPy describes records.
    std::string element_type() {
        skip_spaces();
        if (position < text.size() && text[position] == '[') {
            throw FileError(fmt::format("'{}' holds records, expected integers or booleans", file));
        }
        return std::string(string("an element type"));
    }
};

struct Extent {
    size_t begin;
    size_t bytes;
};

// Where the dictionary's text lies.
Extent find_dictionary(std::span<const uint8_t> bytes, std::string_view file) {
    if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin(),
                                                    [](char x, uint8_t y) { return static_cast<uint8_t>(x) == y; })) {
        throw FileError(fmt::format("'{}' is not a .npy file: it does not begin with \\x93NUMPY", file));
    }
    if (bytes.size() < 8) {
        throw FileError(fmt::format("'{}' is truncated: it has {} bytes, expected at least 10", file, bytes.size()));
    }
    const int version = bytes[6];
    if (version < 1 || version > 3) {
        throw FileError(
            fmt::format("'{}' has version {}.{} of the .npy format, expected 1 to 3", file, version, bytes[7]));
    }
    const size_t begin = version == 1 ? 10 : 12;
    if (bytes.size() < begin) {
        throw FileError(
            fmt::format("'{}' is truncated: it has {} bytes, expected at least {}", file, bytes.size(), begin));
    }
    size_t length = 0;
    for (size_t i = begin; i-- > 8;) length = length << 8 | bytes[i];
    if (length > bytes.size() - begin) {
        throw FileError(fmt::format("'{}' is truncated: its header ends at byte {} and it has {}", file, begin + length,
                                    bytes.size()));
    }
    return {begin, length};
}

}  // namespace

NpyHeader parse_npy_header(std::span<const uint8_t> bytes, std::string_view file) {
    const Extent dictionary = find_dictionary(bytes, file);
    DictionaryParser parser{{reinterpret_cast<const char*>(bytes.data()) + dictionary.begin, dictionary.bytes}, file};
    NpyHeader header;
    header.data_begin = dictionary.begin + dictionary.bytes;
    bool has_descr = false, has_order = false, has_shape = false;
    parser.expect('{');
    while (!parser.accept('}')) {
        const std::string_view key = parser.string("a member's name");
        parser.expect(':');
        if (key == "descr" && !has_descr) {
            header.descr = parser.element_type();
            has_descr = true;
        } else if (key == "fortran_order" && !has_order) {
            header.fortran_order = parser.boolean();
            has_order = true;
        } else if (key == "shape" && !has_shape) {
            header.shape = parser.shape();
            has_shape = true;
        } else {
            parser.fail("descr, fortran_order and shape once each");
        }
        if (parser.accept('}')) break;
        parser.expect(',');
    }
    if (!has_descr || !has_order || !has_shape) parser.fail("descr, fortran_order and shape once each");
    parser.skip_spaces();
    if (parser.position != dictionary.bytes) parser.fail("the end");
    return header;
}

std::string format_npy_header(std::string_view descr, std::span<const int64_t> shape) {
    const std::string extents = fmt::format("{}", fmt::join(shape, ", "));
    std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr, extents,
                                         shape.size() == 1 ? "," : "");
    constexpr size_t kBefore = 10;
    const size_t bytes = (kBefore + dictionary.size() + 1 + 63) / 64 * 64;
    dictionary.resize(bytes - kBefore - 1, ' ');
    dictionary += '\n';
    const size_t length = dictionary.size();
    std::string header(kMagic);
    header += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
    return header + dictionary;
}

}  // namespace jali::io

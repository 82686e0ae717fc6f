#include "audit/line_header.h"

#include <fmt/format.h>

#include <algorithm>

namespace jali::audit {
namespace {

constexpr uint32_t kLong = 0xffffffff;  // a length of 64 bits follows: 64-bit DWARF

// Forms and contents of the tables of version 5.
enum Form : uint64_t {
    kBlock2 = 0x03,
    kData2 = 0x05,
    kData4 = 0x06,
    kData8 = 0x07,
    kString = 0x08,
    kBlock = 0x09,
    kData1 = 0x0b,
    kStrp = 0x0e,
    kUdata = 0x0f,
    kData16 = 0x1e,
    kLineStrp = 0x1f,
};
enum Content : uint64_t { kPath = 1, kFolder = 2 };

struct Strings {
    std::span<const uint8_t> plain, line;
};

// A path; more is cut off, so that a hostile table cannot name one long text again and again.
constexpr size_t kMostPathBytes = 4096;

std::string_view path_text(std::string_view text) {
    return text.substr(0, kMostPathBytes);
}

// Folder 0 is where the compiler ran, which these versions do not name.
void read_old_tables(ByteReader& reader, LineHeader& header) {
    std::vector<std::string_view> folders = {""};
    for (std::string_view name = reader.read_text(); !name.empty(); name = reader.read_text())
        folders.push_back(path_text(name));
    for (std::string_view name = reader.read_text(); !name.empty(); name = reader.read_text()) {
        const uint64_t folder = reader.read_uleb128();
        reader.read_uleb128();  // time
        reader.read_uleb128();  // size
        header.files.push_back({folder < folders.size() ? folders[folder] : "", path_text(name)});
    }
}

struct Entry {
    std::string_view path;
    uint64_t folder = 0;
};

std::string_view text_at(ByteReader& reader, std::span<const uint8_t> strings, bool is_long) {
    const uint64_t offset = is_long ? reader.read<uint64_t>() : reader.read<uint32_t>();
    if (offset >= strings.size()) return {};
    const auto rest = strings.subspan(offset, std::min(strings.size() - offset, kMostPathBytes));
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    return text.substr(0, text.find('\0'));
}

Entry read_entry(ByteReader& reader, std::span<const std::pair<uint64_t, uint64_t>> format, const Strings& strings,
                 bool is_long) {
    Entry entry;
    for (const auto& [content, form] : format) {
        std::string_view text;
        uint64_t number = 0;
        switch (form) {
            case kString:
                text = reader.read_text();
                break;
            case kStrp:
                text = text_at(reader, strings.plain, is_long);
                break;
            case kLineStrp:
                text = text_at(reader, strings.line, is_long);
                break;
            case kUdata:
                number = reader.read_uleb128();
                break;
            case kData1:
                number = reader.read<uint8_t>();
                break;
            case kData2:
                number = reader.read<uint16_t>();
                break;
            case kData4:
                number = reader.read<uint32_t>();
                break;
            case kData8:
                number = reader.read<uint64_t>();
                break;
            case kData16:
                reader.skip(16);
                break;
            case kBlock:
                reader.skip(reader.read_uleb128());
                break;
            case kBlock2:
                reader.skip(reader.read<uint16_t>());
                break;
            default:
                reader.fail(fmt::format("has a table of files in the unknown form {:#x}", form));
        }
        if (content == kPath) entry.path = text;
        if (content == kFolder) entry.folder = number;
    }
    return entry;
}

std::vector<Entry> read_new_table(ByteReader& reader, const Strings& strings, bool is_long) {
    std::vector<std::pair<uint64_t, uint64_t>> format(reader.read<uint8_t>());
    for (auto& [content, form] : format) {
        content = reader.read_uleb128();
        form = reader.read_uleb128();
    }
    const uint64_t count = reader.read_uleb128();
    // An entry takes at least a byte.
    if (count > reader.left() || (format.empty() && count > 0))
        reader.fail(fmt::format("has a table of {} files", count));
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < count; ++i) entries.push_back(read_entry(reader, format, strings, is_long));
    return entries;
}

}  // namespace

LineHeader read_line_header(ByteReader& reader, std::span<const uint8_t> strings,
                            std::span<const uint8_t> line_strings) {
    LineHeader header;
    uint64_t bytes = reader.read<uint32_t>();
    const bool is_long = bytes == kLong;
    if (is_long) bytes = reader.read<uint64_t>();
    if (bytes > reader.left()) reader.fail(fmt::format("has a unit of {} bytes, with {} left,", bytes, reader.left()));
    header.end = reader.offset() + bytes;
    header.version = reader.read<uint16_t>();
    if (header.version < 2 || header.version > 5)
        reader.fail(fmt::format("has a unit of version {}, none of 2 to 5,", header.version));
    if (header.version >= 5) reader.skip(2);  // sizes of addresses and segments
    const uint64_t header_bytes = is_long ? reader.read<uint64_t>() : reader.read<uint32_t>();
    if (header_bytes > header.end - std::min(header.end, reader.offset()))
        reader.fail(fmt::format("has a header of {} bytes in a unit that ends at {},", header_bytes, header.end));
    header.program = reader.offset() + header_bytes;
    header.instruction_bytes = reader.read<uint8_t>();
    if (header.version >= 4) reader.skip(1);       // operations an instruction
    reader.skip(1);                                // whether rows begin a statement
    const int line_base = reader.read<uint8_t>();  // two's complement
    header.line_base = line_base < 128 ? line_base : line_base - 256;
    header.line_range = reader.read<uint8_t>();
    if (header.line_range == 0) reader.fail("has a unit with a line range of 0");
    header.first_special = reader.read<uint8_t>();
    if (header.first_special == 0) reader.fail("has a unit whose first special operation is 0");
    for (unsigned i = 1; i < header.first_special; ++i) header.operands[i] = reader.read<uint8_t>();
    if (header.version < 5) {
        read_old_tables(reader, header);
        return header;
    }
    const Strings texts{strings, line_strings};
    const std::vector<Entry> folders = read_new_table(reader, texts, is_long);
    for (const Entry& file : read_new_table(reader, texts, is_long))
        header.files.push_back({file.folder < folders.size() ? folders[file.folder].path : "", path_text(file.path)});
    return header;
}

}  // namespace jali::audit

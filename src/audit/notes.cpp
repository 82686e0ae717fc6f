#include "audit/notes.h"

#include <algorithm>
#include <string_view>

#include "audit/byte_reader.h"

namespace jali::audit {
namespace {

// Types of notes whose name is "NVIDIA Corp".
constexpr uint32_t kToolNote = 2000, kToolkitNote = 1000;

// The text at an offset of the strings; empty outside.
std::string text_at(std::span<const uint8_t> strings, uint32_t offset) {
    if (offset >= strings.size()) return {};
    const auto rest = strings.subspan(offset);
    return {rest.begin(), std::find(rest.begin(), rest.end(), uint8_t{0})};
}

std::string without_outer_spaces(const std::string& text) {
    const size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// "Cuda compilation tools, release 13.0, V13.0.88" -> "13.0.88"
std::string version_in(const std::string& text) {
    const size_t v = text.rfind(" V");
    return v == std::string::npos ? text : text.substr(v + 2);
}

// Words: version of the note, then offsets of texts: object, tool, version, build, options.
void read_tool(std::span<const uint8_t> description, CubinNotes& notes) {
    ByteReader reader(description, ".note.nv.tkinfo");
    reader.skip(8);
    const auto tool = reader.read<uint32_t>();
    const auto version = reader.read<uint32_t>();
    reader.skip(4);
    const auto options = reader.read<uint32_t>();
    const auto strings = description.subspan(reader.offset());
    notes.tool = text_at(strings, tool);
    notes.version = version_in(text_at(strings, version));
    notes.options = without_outer_spaces(text_at(strings, options));
}

void read_toolkit(std::span<const uint8_t> description, CubinNotes& notes) {
    ByteReader reader(description, ".note.nv.cuinfo");
    reader.skip(4);
    notes.toolkit = reader.read<uint16_t>();
}

void read_section(const ElfSection& section, CubinNotes& notes) {
    const auto aligned = [](uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; };
    ByteReader reader(section.bytes, section.name);
    while (reader.left() >= 12) {
        const auto name_bytes = reader.read<uint32_t>();
        const auto description_bytes = reader.read<uint32_t>();
        const auto type = reader.read<uint32_t>();
        reader.skip(aligned(name_bytes));
        const auto description = reader.take(description_bytes);
        reader.skip(std::min<uint64_t>(aligned(description_bytes) - description_bytes, reader.left()));
        if (type == kToolNote) read_tool(description, notes);
        if (type == kToolkitNote) read_toolkit(description, notes);
    }
}

}  // namespace

CubinNotes read_notes(const ElfImage& elf) {
    CubinNotes notes;
    for (const std::string_view name : {".note.nv.tkinfo", ".note.nv.cuinfo"}) {
        if (const ElfSection* section = elf.section(name)) read_section(*section, notes);
    }
    return notes;
}

}  // namespace jali::audit

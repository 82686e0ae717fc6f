#include "audit/fat_binary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "jali/error.h"

namespace jali::audit {
namespace {

struct ContainerHeader {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes;  // of the entries that follow
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;
    uint64_t stored_bytes;      // with padding
    uint32_t compressed_bytes;  // without padding; 0 where not compressed
    uint32_t options_offset;    // from the start of the entry; 0 none
    uint16_t minor, major;      // of PTX: its version
    uint32_t arch;
    uint32_t name_offset, name_bytes;
    uint64_t flags;
    uint64_t hash;
    uint64_t unpacked_bytes;  // 0 where not compressed
};
static_assert(sizeof(EntryHeader) == 64);

constexpr uint16_t kContainerVersion = 1;
constexpr uint16_t kEntryVersion = 0x0101;
constexpr uint16_t kPtx = 1, kCubin = 2;
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;
// sm_90a runs on one architecture only, sm_100f on its family.
constexpr uint64_t kArchSpecific = 0x100000, kFamilySpecific = 0x200000;
constexpr uint32_t kMostHeaderBytes = 1U << 20;

[[noreturn]] void fail(uint64_t offset, const std::string& how) {
    throw FileError(fmt::format("fat binary at offset {} {}", offset, how));
}
[[noreturn]] void fail_entry(uint64_t offset, const std::string& how) {
    throw FileError(fmt::format("entry of a fat binary at offset {} {}", offset, how));
}

template <typename Header>
Header header_at(std::span<const uint8_t> bytes) {
    static_assert(std::is_trivially_copyable_v<Header>);
    Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
}

std::string arch_of(const EntryHeader& entry) {
    const char* suffix = (entry.flags & kFamilySpecific) != 0 ? "f" : (entry.flags & kArchSpecific) != 0 ? "a" : "";
    return fmt::format("sm_{}{}", entry.arch, suffix);
}

// The options stand behind two numbers: where their text begins in the entry, and its length.
std::string options_of(const EntryHeader& entry, std::span<const uint8_t> header, uint64_t offset) {
    if (entry.options_offset == 0) return {};
    struct Place {
        uint32_t offset, bytes;
    };
    if (entry.options_offset > header.size() || header.size() - entry.options_offset < sizeof(Place))
        fail_entry(offset, fmt::format("has its options at its byte {} of {}", entry.options_offset, header.size()));
    const Place place = header_at<Place>(header.subspan(entry.options_offset));
    if (place.bytes == 0) return {};
    if (place.offset > header.size() || place.bytes > header.size() - place.offset)
        fail_entry(offset, fmt::format("has {} bytes of options at its byte {} of {}", place.bytes, place.offset,
                                       header.size()));
    std::string text(reinterpret_cast<const char*>(header.data()) + place.offset, place.bytes);
    text.resize(std::min(text.find('\0'), text.size()));
    const size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

ContainerHeader container_at(std::span<const uint8_t> bytes, uint64_t offset) {
    if (bytes.size() < sizeof(ContainerHeader))
        fail(offset, fmt::format("ends after {} of the {} bytes of its header", bytes.size(), sizeof(ContainerHeader)));
    const auto container = header_at<ContainerHeader>(bytes);
    if (container.magic != kFatBinaryMagic)
        fail(offset, fmt::format("has magic {:#x}, not {:#x}", container.magic, kFatBinaryMagic));
    if (container.version != kContainerVersion)
        fail(offset, fmt::format("has version {}, not {}", container.version, kContainerVersion));
    if (container.header_bytes < sizeof(ContainerHeader) || container.header_bytes > bytes.size())
        fail(offset, fmt::format("has a header of {} bytes and {} are left", container.header_bytes, bytes.size()));
    return container;
}

struct Entry {
    EntryHeader header;
    std::span<const uint8_t> header_bytes, stored;
    uint64_t offset = 0;
};

// The entry at the start of `bytes`, which reach to the end of the container or of what there is of it.
Entry entry_at(std::span<const uint8_t> bytes, uint64_t offset) {
    if (bytes.size() < sizeof(EntryHeader))
        fail_entry(offset,
                   fmt::format("ends after {} of the {} bytes of its header", bytes.size(), sizeof(EntryHeader)));
    Entry entry{header_at<EntryHeader>(bytes), {}, {}, offset};
    const EntryHeader& header = entry.header;
    if (header.version != kEntryVersion)
        fail_entry(offset, fmt::format("has version {:#x}, not {:#x}", header.version, kEntryVersion));
    if (header.header_bytes < sizeof(EntryHeader) || header.header_bytes > kMostHeaderBytes)
        fail_entry(offset, fmt::format("has a header of {} bytes", header.header_bytes));
    if (header.header_bytes > bytes.size() || header.stored_bytes > bytes.size() - header.header_bytes)
        fail_entry(offset, fmt::format("says {} + {} bytes and {} are left", header.header_bytes, header.stored_bytes,
                                       bytes.size()));
    entry.header_bytes = bytes.first(header.header_bytes);
    entry.stored = bytes.subspan(header.header_bytes, header.stored_bytes);
    return entry;
}

PackedImage image_of(const Entry& entry, const Carrier& carrier, const std::string& origin) {
    const EntryHeader& header = entry.header;
    PackedImage packed;
    packed.carrier_offset = entry.offset + entry.header_bytes.size();
    packed.held_bytes = carrier.held_bytes;
    packed.image = {.kind = header.kind == kPtx ? ImageKind::kPtx : ImageKind::kCubin,
                    .origin = origin,
                    .arch = arch_of(header),
                    .options = {},
                    .bytes = entry.stored,
                    .owner = carrier.owner};
    if (header.kind == kPtx) packed.image.options = options_of(header, entry.header_bytes, entry.offset);
    packed.unpacked_bytes = header.stored_bytes;
    if ((header.flags & (kLz4 | kZstd)) != 0) {
        packed.compression = (header.flags & kZstd) != 0 ? Compression::kZstd : Compression::kLz4;
        packed.unpacked_bytes = header.unpacked_bytes;
        if (header.compressed_bytes > header.stored_bytes)
            fail_entry(entry.offset, fmt::format("says {} bytes compressed of {} stored", header.compressed_bytes,
                                                 header.stored_bytes));
        packed.image.bytes = entry.stored.first(header.compressed_bytes);
    } else if (header.compressed_bytes != 0) {
        fail_entry(entry.offset, fmt::format("is compressed in an unknown way (flags {:#x})", header.flags));
    }
    return packed;
}

void visit(const Entry& entry, const Carrier& carrier, const std::string& origin, const FatBinaryVisitor& visitor) {
    if (entry.header.kind != kPtx && entry.header.kind != kCubin) return visitor.on_other();
    PackedImage packed;
    try {
        packed = image_of(entry, carrier, origin);
    } catch (const FileError& error) {
        return visitor.on_problem(error.what());
    }
    visitor.on_image(std::move(packed));
}

}  // namespace

bool looks_like_fat_binary(std::span<const uint8_t> bytes) {
    if (bytes.size() < sizeof(ContainerHeader)) return false;
    const auto container = header_at<ContainerHeader>(bytes);
    if (container.magic != kFatBinaryMagic || container.version != kContainerVersion ||
        container.header_bytes < sizeof(ContainerHeader) || container.header_bytes > bytes.size())
        return false;
    if (container.bytes == 0) return true;
    const auto rest = bytes.subspan(container.header_bytes);
    return rest.size() >= sizeof(EntryHeader) && header_at<EntryHeader>(rest).version == kEntryVersion;
}

uint64_t read_fat_binary(const Carrier& carrier, uint64_t offset, const std::string& origin,
                         const FatBinaryVisitor& visitor) {
    const auto bytes = carrier.bytes.subspan(offset);
    ContainerHeader container{};
    try {
        container = container_at(bytes, offset);
    } catch (const FileError& error) {
        visitor.on_problem(error.what());
        return offset + 1;
    }
    const auto rest = bytes.subspan(container.header_bytes);
    const auto entries = rest.first(std::min<uint64_t>(container.bytes, rest.size()));
    const uint64_t begin = offset + container.header_bytes;
    if (entries.size() < container.bytes)
        visitor.on_problem(fmt::format("fat binary at offset {} says {} bytes of entries and {} are left", offset,
                                       container.bytes, rest.size()));
    for (size_t position = 0; position < entries.size();) {
        try {
            const Entry entry = entry_at(entries.subspan(position), begin + position);
            visit(entry, carrier, origin, visitor);
            position += entry.header_bytes.size() + entry.stored.size();
        } catch (const FileError& error) {
            visitor.on_problem(error.what());
            return begin + position;
        }
    }
    return begin + entries.size();
}

}  // namespace jali::audit

// Fat binaries, ELF files, archives and zips of a test's own making.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/walk.h"

namespace jali::audit::test {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(std::string_view text);
void write_bytes(const std::filesystem::path& path, std::span<const uint8_t> bytes);
Bytes joined(const std::vector<Bytes>& parts);

template <typename Number>
void put(Bytes& bytes, size_t offset, Number number) {
    for (size_t i = 0; i < sizeof number; ++i)
        bytes.at(offset + i) = static_cast<uint8_t>(static_cast<uint64_t>(number) >> (8 * i));
}

// --- ELF ---

struct Section {
    std::string name;
    Bytes bytes;
    uint32_t type = 1;   // SHT_PROGBITS
    uint64_t flags = 2;  // SHF_ALLOC
    uint32_t link = 0;
    uint64_t memory_bytes = 0;  // of sections without bytes in the file
};
constexpr uint16_t kX86Machine = 62, kCudaMachine = 190;
// Section 1 is the table of names, those given follow; the section headers come last.
Bytes elf(uint16_t machine, const std::vector<Section>& sections);
// Where the header of section `index` begins.
size_t section_header_offset(const Bytes& elf_bytes, size_t index);
// An ELF of device code that holds one section of a text, so that tests tell one from another.
Bytes cubin(std::string_view content = "code");

// --- Fat binaries ---

enum class Packing { kPlain, kLz4, kZstd };
struct Entry {
    uint16_t kind = 2;  // 1 PTX, 2 cubin
    uint32_t arch = 90;
    uint64_t flags = 0x11;
    Bytes bytes;
    Packing packing = Packing::kPlain;
    std::string options;
};
constexpr uint64_t kArchSpecific = 0x100000, kFamilySpecific = 0x200000;
constexpr size_t kContainerHeader = 16, kEntryHeader = 64;
Bytes fat_binary(const std::vector<Entry>& entries);

// --- Archives ---

struct Member {
    std::string name;
    Bytes bytes;
};
Bytes ar(const std::vector<Member>& members);
Bytes zip(const std::vector<Member>& members);

// --- What a walk finds ---

struct Found {
    std::vector<Image> images;          // unpacked
    std::vector<std::string> problems;  // "origin: sentence", from the walk and from unpacking, without the folder
    int64_t others = 0;

    std::vector<std::string> origins() const;
    std::vector<std::string> texts() const;  // of the images
};
// With `path`'s folder cut off of all origins.
Found found_in(const std::filesystem::path& path);
// Of a file of these bytes that is called `name`.
Found found_in(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace jali::audit::test

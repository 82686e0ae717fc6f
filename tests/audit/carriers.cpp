#include "audit/carriers.h"

#include <elf.h>
#include <lz4.h>
#include <zip.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

constexpr size_t kElfHeader = sizeof(Elf64_Ehdr), kSectionHeader = sizeof(Elf64_Shdr);

void append(Bytes& bytes, std::span<const uint8_t> more) {
    for (const uint8_t byte : more) bytes.push_back(byte);  // insert() of g++ 12 warns of bounds that it keeps
}

template <typename Struct>
void append_struct(Bytes& bytes, const Struct& value) {
    append(bytes, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
}

Bytes compressed(const Bytes& bytes, Packing packing) {
    Bytes out;
    size_t size = 0;
    if (packing == Packing::kZstd) {
        out.resize(ZSTD_compressBound(bytes.size()));
        size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1);
    } else {
        out.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes.size()))));
        size = static_cast<size_t>(LZ4_compress_default(reinterpret_cast<const char*>(bytes.data()),
                                                        reinterpret_cast<char*>(out.data()),
                                                        static_cast<int>(bytes.size()), static_cast<int>(out.size())));
    }
    out.resize(size);
    return out;
}

void pad_to(Bytes& bytes, size_t multiple) {
    bytes.resize((bytes.size() + multiple - 1) / multiple * multiple);
}

Bytes entry_bytes(const Entry& entry) {
    const bool packed = entry.packing != Packing::kPlain;
    Bytes stored = packed ? compressed(entry.bytes, entry.packing) : entry.bytes;
    const size_t compressed_bytes = packed ? stored.size() : 0;
    pad_to(stored, 8);
    Bytes options;
    if (!entry.options.empty()) {
        options = joined({Bytes(8), bytes_of(entry.options), Bytes(1)});
        put(options, 0, static_cast<uint32_t>(kEntryHeader + 8));
        put(options, 4, static_cast<uint32_t>(entry.options.size() + 1));
        pad_to(options, 8);
    }
    Bytes bytes(kEntryHeader);
    put(bytes, 0, entry.kind);
    put(bytes, 2, uint16_t{0x0101});
    put(bytes, 4, static_cast<uint32_t>(kEntryHeader + options.size()));
    put(bytes, 20, static_cast<uint32_t>(options.empty() ? 0 : kEntryHeader));
    put(bytes, 8, uint64_t{stored.size()});
    put(bytes, 16, static_cast<uint32_t>(compressed_bytes));
    put(bytes, 28, entry.arch);
    const uint64_t flag = entry.packing == Packing::kZstd ? 0x8000U : packed ? 0x2000U : 0;
    put(bytes, 40, entry.flags | flag);
    put(bytes, 56, uint64_t{packed ? entry.bytes.size() : 0});
    return joined({bytes, options, stored});
}

std::string without(std::string text, const std::string& prefix) {
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
}

}  // namespace

Bytes bytes_of(std::string_view text) {
    return {text.begin(), text.end()};
}

void write_bytes(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes joined(const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) append(all, part);
    return all;
}

Bytes elf(uint16_t machine, const std::vector<Section>& sections) {
    Bytes names = {0};
    const auto add_name = [&](std::string_view name) {
        const auto at = static_cast<uint32_t>(names.size());
        append(names, bytes_of(name));
        names.push_back(0);
        return at;
    };
    std::vector<Elf64_Shdr> headers(2 + sections.size());
    headers[1].sh_name = add_name(".shstrtab");
    headers[1].sh_type = SHT_STRTAB;
    for (size_t i = 0; i < sections.size(); ++i) headers[2 + i].sh_name = add_name(sections[i].name);

    Bytes file(kElfHeader);
    const auto place = [&](Elf64_Shdr& header, const Bytes& bytes) {
        pad_to(file, 8);
        header.sh_offset = file.size();
        header.sh_size = bytes.size();
        append(file, bytes);
    };
    place(headers[1], names);
    for (size_t i = 0; i < sections.size(); ++i) {
        Elf64_Shdr& header = headers[2 + i];
        place(header, sections[i].bytes);
        header.sh_type = sections[i].type;
        header.sh_flags = sections[i].flags;
        header.sh_link = sections[i].link;
        if (sections[i].memory_bytes > 0) header.sh_size = sections[i].memory_bytes;
    }
    pad_to(file, 8);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_shoff = file.size();
    header.e_ehsize = kElfHeader;
    header.e_shentsize = kSectionHeader;
    header.e_shnum = static_cast<uint16_t>(headers.size());
    header.e_shstrndx = 1;
    std::memcpy(file.data(), &header, sizeof header);
    for (const Elf64_Shdr& section : headers) append_struct(file, section);
    return file;
}

size_t section_header_offset(const Bytes& elf_bytes, size_t index) {
    Elf64_Ehdr header;
    std::memcpy(&header, elf_bytes.data(), sizeof header);
    return header.e_shoff + index * kSectionHeader;
}

Bytes cubin(std::string_view content) {
    return elf(kCudaMachine, {{.name = ".text.k", .bytes = bytes_of(content)}});
}

Bytes fat_binary(const std::vector<Entry>& entries) {
    Bytes bytes(kContainerHeader);
    for (const Entry& entry : entries) append(bytes, entry_bytes(entry));
    put(bytes, 0, uint32_t{0xBA55ED50});
    put(bytes, 4, uint16_t{1});
    put(bytes, 6, static_cast<uint16_t>(kContainerHeader));
    put(bytes, 8, uint64_t{bytes.size() - kContainerHeader});
    return bytes;
}

Bytes ar(const std::vector<Member>& members) {
    Bytes bytes = bytes_of("!<arch>\n");
    const auto add = [&](std::string name, const Bytes& content) {
        std::string header(60, ' ');
        header.replace(0, name.size(), name);
        const std::string size = std::to_string(content.size());
        header.replace(48, size.size(), size);
        header.replace(58, 2, "`\n");
        append(bytes, bytes_of(header));
        append(bytes, content);
        if (content.size() % 2 == 1) bytes.push_back('\n');
    };
    add("/", Bytes(4));
    std::string long_names;
    for (const Member& member : members) long_names += member.name.size() > 15 ? member.name + "/\n" : "";
    if (!long_names.empty()) add("//", bytes_of(long_names));
    for (const Member& member : members) {
        const bool is_long = member.name.size() > 15;
        add(is_long ? "/" + std::to_string(long_names.find(member.name)) : member.name + "/", member.bytes);
    }
    return bytes;
}

Bytes zip(const std::vector<Member>& members) {
    const jali::test::TemporaryFolder folder;
    const std::string path = folder / "made.zip";
    zip_t* file = zip_open(path.c_str(), ZIP_CREATE, nullptr);
    if (file == nullptr) std::abort();
    for (const Member& member : members) {
        zip_source_t* source = zip_source_buffer(file, member.bytes.data(), member.bytes.size(), 0);
        if (zip_file_add(file, member.name.c_str(), source, 0) < 0) std::abort();
    }
    if (zip_close(file) != 0) std::abort();
    return bytes_of(jali::test::read_text(path));
}

std::vector<std::string> Found::origins() const {
    std::vector<std::string> all;
    for (const Image& image : images) all.push_back(image.origin);
    return all;
}

std::vector<std::string> Found::texts() const {
    std::vector<std::string> all;
    for (const Image& image : images) all.emplace_back(image.bytes.begin(), image.bytes.end());
    return all;
}

Found found_in(const std::filesystem::path& path) {
    const std::string folder = path.parent_path().string() + "/";
    Found found;
    const auto report = [&](const std::string& origin, const std::string& sentence) {
        found.problems.push_back(without(origin, folder) + ": " + without(sentence, folder));
    };
    walk(path, {.on_image =
                    [&](const PackedImage& packed) {
                        try {
                            found.images.push_back(unpack(packed));
                            found.images.back().origin = without(packed.image.origin, folder);
                        } catch (const FileError& error) {
                            report(packed.image.origin, error.what());
                        }
                    },
                .on_problem = [&](const Problem& problem) { report(problem.origin, problem.sentence); },
                .on_other = [&] { ++found.others; }});
    return found;
}

Found found_in(std::span<const uint8_t> bytes, const std::string& name) {
    const jali::test::TemporaryFolder folder;
    write_bytes(folder / name, bytes);
    return found_in(folder / name);
}

}  // namespace jali::audit::test

#include "audit/elf_image.h"

#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr size_t kHeaderBytes = sizeof(Elf64_Ehdr);
// What a section header takes; e_shentsize must say so.
constexpr uint64_t kSectionHeaderBytes = sizeof(Elf64_Shdr);
// Names may share their ends, so that all of them together are longer than the file; not by much in a real one.
constexpr uint64_t kMostTextRatio = 16;
constexpr uint64_t kSymbolBytes = sizeof(Elf64_Sym);

// Types of sections of device code that stand for memory. Shared memory has no bytes in the file, whatever its size and
// offset say; global memory has some where it is initialised.
constexpr uint16_t kCudaMachine = 190;
constexpr uint32_t kCudaShared[] = {0x7000000a, 0x70000015, 0x7000007d};
constexpr uint32_t kCudaGlobal = 0x70000008;

[[noreturn]] void fail(const std::string& how) {
    throw FileError("ELF " + how);
}

struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, EndElf>;

void check_identity(std::span<const uint8_t> bytes) {
    if (bytes.size() < kHeaderBytes)
        fail(fmt::format("file ends after {} of the {} bytes of its header", bytes.size(), kHeaderBytes));
    if (std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) fail("magic is not at offset 0");
    if (bytes[EI_CLASS] != ELFCLASS64)
        fail(fmt::format("class at offset {} is {}, not {} (64 bits)", EI_CLASS, bytes[EI_CLASS], ELFCLASS64));
    if (bytes[EI_DATA] != ELFDATA2LSB)
        fail(fmt::format("byte order at offset {} is {}, not {} (little)", EI_DATA, bytes[EI_DATA], ELFDATA2LSB));
}

ElfHandle open_elf(std::span<const uint8_t> bytes) {
    static const bool version_known = elf_version(EV_CURRENT) != EV_NONE;
    if (!version_known) fail(fmt::format("library failed: {}", elf_errmsg(-1)));
    // libelf takes a pointer to what it may change, and changes nothing of a file that it reads.
    ElfHandle elf(elf_memory(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())),
                             bytes.size()));  // NOLINT(*-const-cast)
    if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) fail(fmt::format("file is none: {}", elf_errmsg(-1)));
    return elf;
}

}  // namespace

struct ElfImage::State {
    std::span<const uint8_t> bytes;
    ElfHandle elf;
    GElf_Ehdr header{};
    std::vector<ElfSection> sections;
    std::unordered_map<std::string_view, uint32_t> by_name;
    std::vector<ElfSymbol> symbols;
    bool symbols_read = false;
    uint64_t text_left = 0;  // bytes of names that are still believed

    std::string_view text_at(size_t table, uint64_t offset);
    bool has_bytes(const GElf_Shdr& section) const;
    void read_sections();
    void read_symbols();
    const ElfSection* symbol_table() const;
};

// libelf looks up texts only inside of string tables, and checks that they end there.
std::string_view ElfImage::State::text_at(size_t table, uint64_t offset) {
    const char* found = elf_strptr(elf.get(), table, offset);
    if (found == nullptr) fail(fmt::format("file has no text at offset {} of section {}", offset, table));
    const std::string_view text = found;
    // A hostile file names one long text a million times.
    if (text.size() > text_left)
        fail(
            fmt::format("names at offset {} of section {} take over {} times the file", offset, table, kMostTextRatio));
    text_left -= text.size();
    return text;
}

bool ElfImage::State::has_bytes(const GElf_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) return false;
    if (header.e_machine != kCudaMachine) return true;
    if (std::find(std::begin(kCudaShared), std::end(kCudaShared), section.sh_type) != std::end(kCudaShared))
        return false;
    const bool fits = section.sh_offset <= bytes.size() && section.sh_size <= bytes.size() - section.sh_offset;
    return section.sh_type != kCudaGlobal || fits;
}

void ElfImage::State::read_sections() {
    if (header.e_shoff == 0) return;
    if (header.e_shentsize != kSectionHeaderBytes)
        fail(fmt::format("section headers at offset {} take {} bytes each, not {}", header.e_shoff, header.e_shentsize,
                         kSectionHeaderBytes));
    if (header.e_shoff > bytes.size() || bytes.size() - header.e_shoff < kSectionHeaderBytes)
        fail(fmt::format("section headers begin at offset {} of {} bytes", header.e_shoff, bytes.size()));
    // libelf leaves out headers past the end without a word, so they are counted here; more than a 16-bit number of
    // them is in the first.
    uint64_t count = header.e_shnum;
    if (count == 0) std::memcpy(&count, bytes.data() + header.e_shoff + offsetof(Elf64_Shdr, sh_size), sizeof count);
    if (count > (bytes.size() - header.e_shoff) / kSectionHeaderBytes)
        fail(fmt::format("file ends at {} within its {} section headers at offset {}", bytes.size(), count,
                         header.e_shoff));
    size_t names = 0;
    if (elf_getshdrstrndx(elf.get(), &names) != 0)
        fail(fmt::format("section headers at offset {} are wrong: {}", header.e_shoff, elf_errmsg(-1)));
    sections.reserve(count);
    for (size_t index = 0; index < count; ++index) {
        GElf_Shdr section;
        if (gelf_getshdr(elf_getscn(elf.get(), index), &section) == nullptr)
            fail(fmt::format("section header {} cannot be read: {}", index, elf_errmsg(-1)));
        ElfSection& added = sections.emplace_back();
        added = {.name = {},
                 .index = static_cast<uint32_t>(index),
                 .type = section.sh_type,
                 .link = section.sh_link,
                 .info = section.sh_info,
                 .flags = section.sh_flags,
                 .file_offset = section.sh_offset,
                 .bytes = {},
                 .size = section.sh_size};
        if (index == 0) continue;  // reserved; its fields hold counts that do not fit into the header
        if (has_bytes(section)) {
            if (section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset)
                fail(fmt::format("section {} of {} bytes at offset {} passes the end at {}", index, section.sh_size,
                                 section.sh_offset, bytes.size()));
            added.bytes = bytes.subspan(section.sh_offset, section.sh_size);
        }
        if (names != SHN_UNDEF) added.name = text_at(names, section.sh_name);
        by_name.emplace(added.name, added.index);
    }
}

const ElfSection* ElfImage::State::symbol_table() const {
    for (const uint32_t wanted : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
        for (const ElfSection& section : sections) {
            if (section.type == wanted) return &section;
        }
    }
    return nullptr;
}

void ElfImage::State::read_symbols() {
    symbols_read = true;
    const ElfSection* table = symbol_table();
    if (table == nullptr || table->bytes.empty()) return;
    if (table->size % kSymbolBytes != 0)
        fail(fmt::format("symbol table at offset {} has {} bytes, no multiple of {}", table->file_offset, table->size,
                         kSymbolBytes));
    // Indices of sections past 65,279 are in a table of their own: a module of 10,000 kernels needs it.
    std::span<const uint8_t> far_indices;
    for (const ElfSection& section : sections) {
        if (section.type == SHT_SYMTAB_SHNDX && section.link == table->index) far_indices = section.bytes;
    }
    const size_t count = table->size / kSymbolBytes;
    symbols.reserve(count);
    for (size_t index = 0; index < count; ++index) {
        Elf64_Sym symbol;  // the bytes may lie at any address
        std::memcpy(&symbol, table->bytes.data() + index * kSymbolBytes, sizeof symbol);
        uint32_t section = symbol.st_shndx;
        if (section == SHN_XINDEX) {
            if ((index + 1) * sizeof section > far_indices.size())
                fail(fmt::format("symbol {} at offset {} has a section index that is not in the file", index,
                                 table->file_offset + index * kSymbolBytes));
            std::memcpy(&section, far_indices.data() + index * sizeof section, sizeof section);
        }
        symbols.push_back({.name = text_at(table->link, symbol.st_name),
                           .index = static_cast<uint32_t>(index),
                           .type = static_cast<uint8_t>(GELF_ST_TYPE(symbol.st_info)),
                           .binding = static_cast<uint8_t>(GELF_ST_BIND(symbol.st_info)),
                           .other = symbol.st_other,
                           .section = section,
                           .value = symbol.st_value,
                           .size = symbol.st_size});
    }
}

ElfImage::ElfImage(std::span<const uint8_t> bytes) : state_(std::make_unique<State>()) {
    check_identity(bytes);
    state_->bytes = bytes;
    state_->text_left = kMostTextRatio * bytes.size();
    state_->elf = open_elf(bytes);
    if (gelf_getehdr(state_->elf.get(), &state_->header) == nullptr)
        fail(fmt::format("header cannot be read: {}", elf_errmsg(-1)));
    state_->read_sections();
}

ElfImage::~ElfImage() = default;
ElfImage::ElfImage(ElfImage&&) noexcept = default;
ElfImage& ElfImage::operator=(ElfImage&&) noexcept = default;

uint16_t ElfImage::machine() const {
    return state_->header.e_machine;
}
uint16_t ElfImage::type() const {
    return state_->header.e_type;
}
uint32_t ElfImage::flags() const {
    return state_->header.e_flags;
}
uint8_t ElfImage::os_abi() const {
    return state_->header.e_ident[EI_OSABI];
}
uint8_t ElfImage::abi_version() const {
    return state_->header.e_ident[EI_ABIVERSION];
}
uint64_t ElfImage::extent() const {
    const GElf_Ehdr& header = state_->header;
    uint64_t end = kHeaderBytes;
    const auto extend = [&](uint64_t offset, uint64_t bytes) {
        if (offset > state_->bytes.size() || bytes > state_->bytes.size() - offset)
            fail(fmt::format("headers name {} bytes at offset {} of {}", bytes, offset, state_->bytes.size()));
        end = std::max(end, offset + bytes);
    };
    extend(header.e_shoff, state_->sections.size() * kSectionHeaderBytes);
    extend(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize);
    for (const ElfSection& section : state_->sections) {
        if (!section.bytes.empty()) extend(section.file_offset, section.size);
    }
    return end;
}

const std::vector<ElfSection>& ElfImage::sections() const {
    return state_->sections;
}

const ElfSection* ElfImage::section(std::string_view name) const {
    const auto found = state_->by_name.find(name);
    return found == state_->by_name.end() ? nullptr : &state_->sections[found->second];
}

const std::vector<ElfSymbol>& ElfImage::symbols() const {
    if (!state_->symbols_read) state_->read_symbols();
    return state_->symbols;
}

}  // namespace jali::audit

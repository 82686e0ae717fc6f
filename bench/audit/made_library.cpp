#include "bench/audit/made_library.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <stdexcept>
#include <string_view>

namespace jali::bench {
namespace {

// Every name has this length, so that a kernel is renamed by writing over its name.
std::string kernel_name(int64_t number) {
    return fmt::format("made_kernel_{:08}", number);
}

std::string kernel_ptx(int64_t number, int64_t instructions, std::mt19937& random) {
    // More values than registers, so that some are spilled.
    constexpr int kValues = 72;
    const auto value = [&] { return fmt::format("%f{}", random() % kValues); };
    std::string text = fmt::format(
        ".visible .entry {}(.param .u64 data, .param .u32 count)\n.maxntid 256, 1, 1\n.minnctapersm 4\n{{\n"
        ".reg .f32 %f<{}>;\n.reg .b64 %d<4>;\n.reg .b32 %r<4>;\n.reg .pred %p;\n.shared .align 4 .b8 tile[1024];\n"
        "ld.param.u64 %d0, [data];\ncvta.to.global.u64 %d0, %d0;\nld.param.u32 %r0, [count];\nmov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %d1, %r1, 4;\nadd.s64 %d0, %d0, %d1;\nmov.u32 %r2, tile;\n",
        kernel_name(number), kValues);
    for (int i = 0; i < kValues; ++i) text += fmt::format("ld.global.f32 %f{}, [%d0+{}];\n", i, 1024 * i);
    text += "loop:\n";
    for (int64_t i = 0; i < instructions; ++i) {
        const auto kind = random() % 16;
        if (kind == 0)
            text += fmt::format("ex2.approx.f32 {}, {};\n", value(), value());
        else if (kind == 1)
            text += fmt::format("ld.shared.f32 {}, [%r2+{}];\n", value(), 4 * (random() % 256));
        else
            text += fmt::format("fma.rn.f32 {}, {}, {}, {};\n", value(), value(), value(), value());
    }
    text += "sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra loop;\n";
    for (int i = 0; i < kValues; ++i) text += fmt::format("st.global.f32 [%d0+{}], %f{};\n", 1024 * i, i);
    return text + "ret;\n}\n";
}

Bytes read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void rename_kernel(Bytes& cubin, const std::string& from, const std::string& to) {
    for (auto at = cubin.begin(); (at = std::search(at, cubin.end(), from.begin(), from.end())) != cubin.end();)
        at = std::copy(to.begin(), to.end(), at);
}

template <typename Number>
void put(Bytes& bytes, size_t offset, Number number) {
    std::memcpy(bytes.data() + offset, &number, sizeof number);
}

// A fat binary of one cubin for sm_90.
Bytes fat_binary(const Bytes& cubin, bool compressed) {
    constexpr size_t kContainer = 16, kEntry = 64;
    Bytes stored = cubin;
    if (compressed) {
        stored.resize(ZSTD_compressBound(cubin.size()));
        stored.resize(ZSTD_compress(stored.data(), stored.size(), cubin.data(), cubin.size(), 3));
    }
    const size_t padded = (stored.size() + 7) / 8 * 8;
    Bytes bytes(kContainer + kEntry + padded);
    put(bytes, 0, uint32_t{0xBA55ED50});
    put(bytes, 4, uint16_t{1});
    put(bytes, 6, uint16_t{kContainer});
    put(bytes, 8, uint64_t{kEntry + padded});
    put(bytes, kContainer, uint16_t{2});
    put(bytes, kContainer + 2, uint16_t{0x0101});
    put(bytes, kContainer + 4, uint32_t{kEntry});
    put(bytes, kContainer + 8, uint64_t{padded});
    put(bytes, kContainer + 28, uint32_t{90});
    put(bytes, kContainer + 40, uint64_t{compressed ? 0x8011U : 0x11U});
    if (compressed) {
        put(bytes, kContainer + 16, static_cast<uint32_t>(stored.size()));
        put(bytes, kContainer + 56, uint64_t{cubin.size()});
    }
    std::copy(stored.begin(), stored.end(), bytes.begin() + kContainer + kEntry);
    return bytes;
}

void write(std::ofstream& file, std::span<const uint8_t> bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

template <typename Struct>
std::span<const uint8_t> bytes_of(const Struct& value) {
    return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

}  // namespace

std::vector<Bytes> assemble_cubins(const std::filesystem::path& ptxas, const LibraryShape& shape) {
    std::mt19937 random(1);
    const auto folder = std::filesystem::temp_directory_path();
    const std::string base = (folder / fmt::format("jali-made-kernels-{}", ::getpid())).string();
    std::vector<Bytes> cubins;
    for (int64_t i = 0; i < shape.distinct; ++i) {
        std::ofstream ptx(base + ".ptx");
        ptx << ".version 8.0\n.target sm_90\n.address_size 64\n";
        for (int64_t kernel = 0; kernel < shape.kernels_each; ++kernel)
            ptx << kernel_ptx(kernel, shape.instructions, random);
        ptx.close();
        const std::string command =
            fmt::format("'{}' -arch=sm_90 -O1 -o {}.cubin {}.ptx >{}.log 2>&1", ptxas.string(), base, base, base);
        const int status = std::system(command.c_str());
        const Bytes log = read_bytes(base + ".log");
        cubins.push_back(read_bytes(base + ".cubin"));
        for (const char* kind : {".ptx", ".cubin", ".log"}) std::filesystem::remove(base + kind);
        if (status != 0) throw std::runtime_error(std::string(log.begin(), log.end()));
    }
    return cubins;
}

int64_t write_library(const std::filesystem::path& path, const std::vector<Bytes>& cubins, const LibraryShape& shape) {
    std::ofstream file(path, std::ios::binary);
    Elf64_Ehdr header{};
    write(file, bytes_of(header));
    int64_t kernel = 0;
    for (size_t copy = 0; kernel < shape.kernels; ++copy) {
        Bytes cubin = cubins[copy % cubins.size()];
        for (int64_t i = 0; i < shape.kernels_each; ++i, ++kernel)
            rename_kernel(cubin, kernel_name(i), kernel_name(1000000 + kernel));
        write(file, fat_binary(cubin, shape.compressed));
    }
    const auto device_end = static_cast<uint64_t>(file.tellp());
    constexpr std::string_view kNames("\0.names\0.nv_fatbin\0\0\0\0\0\0", 24);
    file << kNames;
    Elf64_Shdr sections[3] = {};
    sections[1] = {.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = device_end, .sh_size = kNames.size()};
    sections[2] = {.sh_name = 8,
                   .sh_type = SHT_PROGBITS,
                   .sh_flags = SHF_ALLOC,
                   .sh_offset = sizeof header,
                   .sh_size = device_end - sizeof header};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = device_end + kNames.size();
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 1;
    write(file, bytes_of(sections));
    file.seekp(0);
    write(file, bytes_of(header));
    file.close();
    if (!file) throw std::runtime_error("cannot write '" + path.string() + "'");
    return static_cast<int64_t>(std::filesystem::file_size(path));
}

}  // namespace jali::bench

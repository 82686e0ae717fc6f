#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "audit/arch.h"
#include "audit/cubin_file.h"
#include "audit/cubin_kernels.h"
#include "audit/demangle.h"
#include "audit/kernel_code.h"
#include "audit/line_table.h"
#include "audit/spills.h"
#include "jali/audit.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr size_t kInstructionBytes = 16;

std::string sha256_of(std::span<const uint8_t> bytes) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1) return "";
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
}

// Without the NOPs that fill the section up.
std::span<const uint8_t> without_padding(std::span<const uint8_t> code) {
    constexpr uint16_t kNop = 0x918;
    while (code.size() >= kInstructionBytes) {
        uint16_t opcode = 0;
        std::memcpy(&opcode, code.data() + code.size() - kInstructionBytes, sizeof opcode);
        if ((opcode & 0xfff) != kNop) break;
        code = code.first(code.size() - kInstructionBytes);
    }
    return code;
}

std::string assembler_of(const CubinNotes& notes, const CodeInfo& info) {
    if (!notes.tool.empty()) return notes.tool + " " + notes.version;
    if (info.api_version == 0) return "";
    return fmt::format("CUDA {}.{}", info.api_version / 10, info.api_version % 10);
}

int64_t shared_bytes_of(const ElfImage& elf, std::string_view kernel) {
    const ElfSection* section = elf.section(".nv.shared." + std::string(kernel));
    return section == nullptr ? 0 : static_cast<int64_t>(section->size);
}

// Before CUDA 13 the count of barriers is in the flags of the section.
int64_t barriers_of(const ElfSection& text, const CodeInfo& info) {
    return info.barriers > 0 ? info.barriers : static_cast<int64_t>((text.flags >> 20) & 0x7f);
}

// Offsets within the code of a function, ascending; nothing where the assembler's list does not say.
std::optional<std::vector<int64_t>> listed_spills(const CodeInfo& info, const CubinFunction& entry) {
    const std::optional<std::vector<int64_t>> offsets = annotated_spills(info);
    if (!offsets) return std::nullopt;
    std::vector<int64_t> listed;
    for (const int64_t offset : *offsets) {
        const int64_t in_code = offset - static_cast<int64_t>(entry.begin);
        if (in_code >= 0 && static_cast<uint64_t>(in_code) < entry.code.size()) listed.push_back(in_code);
    }
    if (info.annotations.empty()) return listed;
    const std::optional<std::vector<int64_t>> left_out = spills_left_out(entry.code, listed);
    if (!left_out) return std::nullopt;
    listed.insert(listed.end(), left_out->begin(), left_out->end());
    return listed;
}

void read_spills(const CodeInfo& info, const CubinFunction& entry, Kernel& kernel) {
    const std::optional<std::vector<int64_t>> offsets = listed_spills(info, entry);
    if (!offsets) {
        kernel.spill_source = SpillSource::kOpcodes;
        return;
    }
    for (const int64_t offset : *offsets) {
        const std::optional<SpillSite> site = spill_at(entry.code, offset);
        if (!site)
            throw FileError(fmt::format("annotation of a spill in {} names offset {}, where no load or store is",
                                        kernel.name, offset + static_cast<int64_t>(entry.begin)));
        kernel.spill_sites.push_back(*site);
        add(site->in_shared_memory ? kernel.shared_spills : kernel.spills, *site);
    }
}

// Lines of spills beyond this are left out: a table may give each of them 64 long names.
constexpr size_t kMostLineBytes = size_t{64} << 20;

// The line tables of a cubin and the PTX text that one of them speaks of.
struct Lines {
    LineTable source, ptx;
    std::string ptx_text;
    size_t bytes = 0;     // of the lines given out
    std::string problem;  // why there are none, where they are damaged: the kernels are read all the same

    explicit Lines(const ElfImage& elf) {
        try {
            source = LineTable(elf, ".debug_line");
            ptx = LineTable(elf, ".nv_debug_line_sass");
        } catch (const FileError& error) {
            problem = std::string("no lines: ") + error.what();
        }
        // Its lines end in NUL.
        if (const ElfSection* text = elf.section(".nv_debug_ptx_txt")) {
            ptx_text.assign(text->bytes.begin(), text->bytes.end());
            std::replace(ptx_text.begin(), ptx_text.end(), '\0', '\n');
        }
    }
};

void add_lines(Lines& lines, const CubinFunction& entry, Kernel& kernel) {
    for (SpillSite& site : kernel.spill_sites) {
        const uint64_t offset = entry.begin + static_cast<uint64_t>(site.offset);
        site.ptx_line = lines.ptx.line_at(entry.section->index, offset);
        if (lines.bytes > kMostLineBytes) continue;
        site.source = lines.source.lines_at(entry.section->index, offset);
        for (const SourceLine& line : site.source)
            lines.bytes += sizeof line + line.file.capacity() + line.function.capacity();
    }
}

Kernel read_kernel(CubinFile& file, const CubinFunction& entry) {
    const CodeInfo& info = file.info_of(*entry.section);
    const std::span<const uint8_t> code = without_padding(entry.code);
    Kernel kernel;
    kernel.name = entry.name;
    kernel.demangled = demangle(kernel.name);
    kernel.arch = file.arch();
    kernel.assembler = assembler_of(file.notes(), info);
    kernel.options = file.notes().options;
    kernel.registers = entry.registers;
    kernel.threads_bound = info.threads_bound;
    kernel.static_shared_bytes = shared_bytes_of(file.elf(), entry.name);
    kernel.barriers = barriers_of(*entry.section, info);
    kernel.stack_bytes = entry.frame_bytes;
    kernel.code_bytes = static_cast<int64_t>(code.size());
    kernel.code_sha256 = sha256_of(code);
    read_spills(info, entry, kernel);
    read_code(code, code_facts_of(info, static_cast<int64_t>(entry.begin)), kernel);
    return kernel;
}

void check_is_read(const std::string& arch) {
    if (arch_number(arch) < kFirstArchRead)
        throw FileError(fmt::format("Machine code of {} is not read; sm_{} and later is", arch, kFirstArchRead));
}

bool is_wanted(const ReadOptions& options, const Kernel& kernel) {
    const auto contains = [&](const std::string& name) { return name.find(options.name_contains) != name.npos; };
    return contains(kernel.name) || contains(kernel.demangled);
}

}  // namespace

CubinKernels read_kernels(std::span<const uint8_t> bytes, const std::string& origin, const ReadOptions& options) {
    CubinFile file(bytes);
    CubinKernels found;
    if (!options.arch.empty() && file.arch() != options.arch) return found;
    check_is_read(file.arch());
    Lines lines(file.elf());
    if (!lines.problem.empty()) found.problems.push_back(lines.problem);
    for (const CubinFunction& function : file.functions()) {
        if (!function.is_entry) continue;
        try {
            Kernel kernel = read_kernel(file, function);
            if (!is_wanted(options, kernel)) continue;
            kernel.origin = origin;
            add_lines(lines, function, kernel);
            if (options.keep_ptx_text) kernel.ptx_text = lines.ptx_text;
            found.kernels.push_back(std::move(kernel));
        } catch (const FileError& error) {
            found.problems.push_back(fmt::format("kernel {}: {}", function.name, error.what()));
        }
    }
    if (lines.bytes > kMostLineBytes)
        found.problems.push_back(
            fmt::format("the source lines of spills take over {} MiB; others are left out", kMostLineBytes >> 20));
    return found;
}

std::vector<Kernel> read_cubin(std::span<const uint8_t> bytes, const std::string& origin, const ReadOptions& options) {
    CubinKernels found = read_kernels(bytes, origin, options);
    if (!found.problems.empty()) throw FileError(found.problems.front());
    return std::move(found.kernels);
}

}  // namespace jali::audit

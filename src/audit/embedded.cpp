#include "audit/embedded.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "audit/elf_image.h"
#include "audit/fat_binary.h"
#include "audit/file_kind.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr uint32_t kElfMagic = 0x464c457f;
constexpr int64_t kMostProblems = 100;
constexpr uint64_t kPageReturnBytes = uint64_t{1} << 20;  // asked for now and then where nothing is found

bool is_device_code(std::string_view section) {
    return section == ".nv_fatbin" || section == "__nv_relfatbin" || section == ".nvFatBin";
}

// Of one pass over a carrier.
class Scanner {
   public:
    Scanner(const Carrier& carrier, const WalkVisitor& visitor) : carrier_(carrier), visitor_(visitor) {}

    // False where the carrier is so full of problems that it is given up: each may have cost as much as a good image.
    bool scan(const ScanRange& range) {
        const std::span<const uint8_t> bytes = carrier_.bytes.first(range.end);
        for (uint64_t offset = range.begin; range.end - offset >= sizeof(uint32_t);) {
            offset = next_magic(bytes, offset);
            if (offset == range.end) return true;
            const uint64_t past = visit(bytes, offset, range);
            offset = std::max(past, offset + sizeof(uint32_t));
            pages_.passed(offset);
            if (problems_ < kMostProblems) continue;
            visitor_.on_problem({carrier_.origin, fmt::format("{} problems up to offset {}; the rest is not looked at",
                                                              problems_, offset)});
            return false;
        }
        return true;
    }

   private:
    void report(const std::string& origin, const std::string& sentence) {
        ++problems_;
        visitor_.on_problem({origin, sentence});
    }

    // Compares every four bytes with both magics: what is passed over this way is little, and this reads it once.
    uint64_t next_magic(std::span<const uint8_t> bytes, uint64_t offset) {
        for (; bytes.size() - offset >= sizeof(uint32_t); ++offset) {
            uint32_t word = 0;
            std::memcpy(&word, bytes.data() + offset, sizeof word);
            if (word == kFatBinaryMagic || word == kElfMagic) return offset;
            if (offset % kPageReturnBytes == 0) pages_.passed(offset);
        }
        return bytes.size();
    }

    // Past what begins at `offset`, or `offset` where it is nothing.
    uint64_t visit(std::span<const uint8_t> bytes, uint64_t offset, const ScanRange& range) {
        const auto rest = bytes.subspan(offset);
        if (kind_of(rest.first(std::min(rest.size(), kKindBytes))) == FileKind::kCubin)
            return visit_cubin(rest, offset);
        if (range.device_code && rest.front() == uint8_t{kFatBinaryMagic & 0xff})
            return visit_fat_binary(bytes, offset);
        return looks_like_fat_binary(rest) ? visit_fat_binary(bytes, offset) : offset;
    }

    uint64_t visit_fat_binary(std::span<const uint8_t> bytes, uint64_t offset) {
        const std::string origin = fmt::format("{}!fatbin {}", carrier_.origin, ++fat_binaries_);
        const FatBinaryVisitor entries{.on_image = visitor_.on_image,
                                       .on_other = visitor_.on_other ? visitor_.on_other : [] {},
                                       .on_problem = [&](const std::string& sentence) { report(origin, sentence); }};
        Carrier bounded = carrier_;
        bounded.bytes = bytes;
        return read_fat_binary(bounded, offset, origin, entries);
    }

    uint64_t visit_cubin(std::span<const uint8_t> rest, uint64_t offset) {
        const std::string origin = fmt::format("{}!cubin {}", carrier_.origin, ++cubins_);
        try {
            const uint64_t size = ElfImage(rest).extent();
            visitor_.on_image({.image = {.kind = ImageKind::kCubin,
                                         .origin = origin,
                                         .arch = {},
                                         .options = {},
                                         .bytes = rest.first(size),
                                         .owner = carrier_.owner},
                               .compression = Compression::kNone,
                               .unpacked_bytes = size,
                               .carrier_offset = offset,
                               .held_bytes = carrier_.held_bytes});
            return offset + size;
        } catch (const FileError& error) {
            report(origin, fmt::format("cubin at offset {}: {}", offset, error.what()));
            return offset;
        }
    }

    const Carrier& carrier_;
    const WalkVisitor& visitor_;
    int64_t fat_binaries_ = 0, cubins_ = 0, problems_ = 0;
    PageReturn pages_{carrier_};
};

}  // namespace

std::vector<ScanRange> device_code_ranges(std::span<const uint8_t> bytes) {
    const ElfImage elf(bytes);
    if (elf.sections().empty()) return {{0, bytes.size(), false}};
    std::vector<ScanRange> ranges;
    for (const ElfSection& section : elf.sections()) {
        if (section.bytes.empty() || (section.flags & SHF_EXECINSTR) != 0) continue;
        ranges.push_back({section.file_offset, section.file_offset + section.size, is_device_code(section.name)});
    }
    std::sort(ranges.begin(), ranges.end(), [](const ScanRange& a, const ScanRange& b) { return a.begin < b.begin; });
    // A hostile file has thousands of sections over the same bytes; these are looked through once.
    uint64_t done = 0;
    for (ScanRange& range : ranges) {
        range.begin = std::clamp(done, range.begin, range.end);
        done = std::max(done, range.end);
    }
    std::erase_if(ranges, [](const ScanRange& range) { return range.begin == range.end; });
    return ranges;
}

void scan(const Carrier& carrier, std::span<const ScanRange> ranges, const WalkVisitor& visitor) {
    Scanner scanner(carrier, visitor);
    for (const ScanRange& range : ranges) {
        if (!scanner.scan(range)) return;
    }
}

}  // namespace jali::audit

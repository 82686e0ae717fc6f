#include "audit/spills.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace jali::audit {
namespace {

// Types of annotations: words in pairs, a type and a value.
constexpr uint32_t kSpillAnnotation = 1;  // value: the offset of the instruction
constexpr uint32_t kTextAnnotation = 3;   // of `ptxas -annotate`; value: bytes of the text that follows, in whole words

constexpr int64_t kInstructionBytes = 16;
constexpr uint32_t kStl = 0x387, kLdl = 0x983, kSts = 0x388, kLds = 0x984;
constexpr uint32_t kStackPointer = 1;  // R1

uint64_t bits(uint64_t word, unsigned first, unsigned count) {
    return (word >> first) & ((uint64_t{1} << count) - 1);
}

int64_t signed_offset(uint64_t low) {
    const auto value = static_cast<int64_t>(bits(low, 40, 24));
    return value < (1 << 23) ? value : value - (1 << 24);
}

}  // namespace

std::optional<std::vector<int64_t>> annotated_spills(const CodeInfo& info) {
    if (info.api_version < kFirstAnnotatingApi) return std::nullopt;
    std::vector<int64_t> offsets;
    for (const std::span<const uint8_t> bytes : info.annotations) {
        const NvRecord record{.attribute = 0, .value = 0, .bytes = bytes};
        for (size_t i = 0; i + 1 < record.words(); i += 2) {
            const uint32_t value = record.word(i + 1);
            if (record.word(i) == kSpillAnnotation)
                offsets.push_back(value);
            else if (record.word(i) == kTextAnnotation)
                i += (size_t{value} + 3) / 4;
            else
                return std::nullopt;
        }
    }
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    return offsets;
}

std::optional<std::vector<int64_t>> spills_left_out(std::span<const uint8_t> code, const std::vector<int64_t>& listed) {
    constexpr size_t kMostListed = 8192;
    std::vector<int64_t> left_out;
    if (code.size() < kMostListed * kInstructionBytes) return left_out;
    const int64_t last = listed.empty() ? -1 : listed.back();
    bool arrays = false;
    for (int64_t offset = 0; offset + kInstructionBytes <= std::ssize(code); offset += kInstructionBytes) {
        const std::optional<SpillSite> site = spill_at(code, offset);
        if (!site || site->in_shared_memory || std::binary_search(listed.begin(), listed.end(), offset)) continue;
        if (offset > last && site->slot >= 0)
            left_out.push_back(offset);
        else
            arrays = true;
    }
    if (left_out.size() < kMostListed) return std::vector<int64_t>{};
    if (arrays || left_out.size() % kMostListed != 0) return std::nullopt;
    return left_out;
}

std::optional<SpillSite> spill_at(std::span<const uint8_t> code, int64_t offset) {
    if (offset < 0 || offset % kInstructionBytes != 0) return std::nullopt;
    if (static_cast<uint64_t>(offset) + kInstructionBytes > code.size()) return std::nullopt;
    uint64_t words[2];
    std::memcpy(words, code.data() + offset, sizeof words);
    const uint64_t opcode = bits(words[0], 0, 12);
    const bool is_store = opcode == kStl || opcode == kSts;
    if (!is_store && opcode != kLdl && opcode != kLds) return std::nullopt;
    constexpr int64_t kWidths[] = {1, 1, 2, 2, 4, 8, 16, 0};
    SpillSite site;
    site.offset = offset;
    site.is_store = is_store;
    site.in_shared_memory = opcode == kSts || opcode == kLds;
    site.bytes = kWidths[bits(words[1], 9, 3)];
    const bool by_stack_pointer = bits(words[0], 24, 8) == kStackPointer;
    site.slot = by_stack_pointer && !site.in_shared_memory ? signed_offset(words[0]) : -1;
    return site;
}

void add(Traffic& traffic, const SpillSite& site, int64_t times) {
    (site.is_store ? traffic.stores : traffic.loads) += times;
    (site.is_store ? traffic.store_bytes : traffic.load_bytes) += times * site.bytes;
}

}  // namespace jali::audit

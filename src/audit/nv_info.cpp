#include "audit/nv_info.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "audit/byte_reader.h"

namespace jali::audit {
namespace {

enum Format : uint8_t { kNone = 1, kByte = 2, kHalf = 3, kSized = 4 };

// x, y, z; a product that no launch allows is none.
int64_t threads_of(const NvRecord& record) {
    constexpr uint64_t kMostThreads = 1024;
    uint64_t threads = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
        if (record.word(axis) > kMostThreads) return 0;
        threads *= record.word(axis);
    }
    return threads > kMostThreads ? 0 : static_cast<int64_t>(threads);
}

}  // namespace

uint32_t NvRecord::word(size_t index) const {
    uint32_t word = 0;
    if (index < words()) std::memcpy(&word, bytes.data() + 4 * index, sizeof word);
    return word;
}

void visit_nv_info(std::span<const uint8_t> section, std::string_view what,
                   const std::function<void(const NvRecord&)>& visit) {
    ByteReader reader(section, what);
    while (!reader.at_end()) {
        const size_t begin = reader.offset();
        NvRecord record;
        const auto format = reader.read<uint8_t>();
        record.attribute = reader.read<uint8_t>();
        const auto half = reader.read<uint16_t>();
        switch (format) {
            case kNone:
                break;
            case kByte:
                record.value = half & 0xffU;
                break;
            case kHalf:
                record.value = half;
                break;
            case kSized:
                record.bytes = reader.take(half);
                break;
            default:
                reader.seek(begin);
                reader.fail(fmt::format("has a record of format {}, none of 1 to 4,", format));
        }
        visit(record);
    }
}

CodeInfo read_code_info(std::span<const uint8_t> section, std::string_view what) {
    CodeInfo info;
    visit_nv_info(section, what, [&](const NvRecord& record) {
        switch (static_cast<NvAttribute>(record.attribute)) {
            case NvAttribute::kMaxThreads:
            case NvAttribute::kRequiredThreads:
                info.threads_bound = threads_of(record);
                break;
            case NvAttribute::kBarriers:
                info.barriers = record.value;
                break;
            case NvAttribute::kApiVersion:
                info.api_version = record.word(0);
                break;
            case NvAttribute::kAnnotations:
                info.annotations.push_back(record.bytes);
                break;
            case NvAttribute::kIndirectBranches:
                info.indirect_branches.push_back(record.bytes);
                break;
            default:
                break;
        }
    });
    return info;
}

}  // namespace jali::audit

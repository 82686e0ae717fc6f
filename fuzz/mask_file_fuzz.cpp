// Any bytes are a .jmask file or an Error, as they are and with a frame around them whose checksum holds, so that the
// sections are reached; what is read writes the same bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "block_mask/mask_file_layout.h"
#include "jali/error.h"
#include "jali/mask_file.h"

namespace {

constexpr int64_t kByteLimit = int64_t{1} << 24;

void read(std::span<const uint8_t> bytes) {
    try {
        const jali::BlockMask mask = jali::decode_mask(bytes, kByteLimit);
        if (mask.bytes() > kByteLimit) std::abort();
        const std::vector<uint8_t> written = jali::encode_mask(mask);
        if (!std::equal(written.begin(), written.end(), bytes.begin(), bytes.end())) std::abort();
    } catch (const jali::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const uint8_t> bytes(data, size);
    read(bytes);
    read(jali::frame_mask_file(bytes));
    return 0;
}

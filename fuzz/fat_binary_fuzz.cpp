// Any bytes are fat binaries or problems; an image lies inside of the input and unpacks to the size that its entry
// says.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "audit/embedded.h"
#include "audit/packed_image.h"
#include "jali/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace jali::audit;
    const std::span<const uint8_t> input(data, size);
    const Carrier carrier{.origin = "input", .bytes = input, .owner = nullptr};
    const auto on_image = [&](const PackedImage& packed) {
        const std::span<const uint8_t> stored = packed.image.bytes;
        if (stored.data() < data || stored.data() + stored.size() > data + size) std::abort();
        if (packed.carrier_offset > size) std::abort();
        try {
            const Image image = unpack(packed);
            const bool as_stated = image.kind == ImageKind::kPtx ? image.bytes.size() <= packed.unpacked_bytes
                                                                 : image.bytes.size() == packed.unpacked_bytes;
            if (!as_stated) std::abort();
            if (image.kind == ImageKind::kPtx && !image.bytes.empty() && image.bytes.back() == 0) std::abort();
        } catch (const jali::FileError&) {
        }
    };
    const auto on_problem = [](const Problem& problem) {
        if (problem.sentence.empty()) std::abort();
    };
    const ScanRange all{0, size, true};
    scan(carrier, {&all, 1}, {.on_image = on_image, .on_problem = on_problem, .on_other = {}});
    return 0;
}

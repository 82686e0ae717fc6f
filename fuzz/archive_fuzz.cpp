// Any bytes are an archive, a wheel, a library or another file, or problems: one in another down to a limit.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "audit/walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace jali::audit;
    const Carrier carrier{.origin = "input", .bytes = {data, size}, .owner = nullptr};
    const auto on_image = [&](const PackedImage& packed) {
        // Read every byte, so that a span outside of what its owner keeps is seen.
        volatile uint8_t sum = 0;
        for (const uint8_t byte : packed.image.bytes) sum = static_cast<uint8_t>(sum + byte);
        if (packed.image.origin.empty()) std::abort();
    };
    const auto on_problem = [](const Problem& problem) {
        if (problem.sentence.empty() || problem.origin.empty()) std::abort();
    };
    walk(carrier, {.on_image = on_image, .on_problem = on_problem, .on_other = {}});
    return 0;
}

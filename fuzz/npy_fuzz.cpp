// Any bytes are a .npy array or a FileError; an array has as many elements as its shape says.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "io/npy.h"
#include "jali/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        const jali::io::NpyArray array = jali::io::decode_npy(std::span(data, size), "input");
        size_t count = 1;
        for (const int64_t extent : array.shape) {
            if (extent == 0) count = 0;
        }
        for (const int64_t extent : array.shape) count *= static_cast<size_t>(extent);
        const bool as_stated = array.is_boolean ? array.booleans.size() == count && array.integers.empty()
                                                : array.integers.size() == count && array.booleans.empty();
        if (!as_stated) std::abort();
        for (const uint8_t value : array.booleans) {
            if (value > 1) std::abort();
        }
    } catch (const jali::FileError&) {
    }
    return 0;
}

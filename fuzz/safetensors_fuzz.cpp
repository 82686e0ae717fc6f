// Any bytes are a safetensors file or a FileError; tensors tile the bytes after the header without gap or overlap.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "io/safetensors.h"
#include "jali/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        const std::span<const uint8_t> bytes(data, size);
        const jali::io::StoredTensors contents = jali::io::decode_safetensors(bytes, "input");
        size_t stored = 0;
        for (const jali::io::StoredTensor& tensor : contents.tensors) {
            size_t needed = static_cast<size_t>(jali::io::bytes_of(tensor.type));
            for (const int64_t extent : tensor.shape) {
                if (extent == 0) needed = 0;
            }
            for (const int64_t extent : tensor.shape) needed *= static_cast<size_t>(extent);
            if (tensor.data.size() != needed) std::abort();
            stored += needed;
        }
        const uint8_t* end = data + size;
        const uint8_t* next = contents.tensors.empty() ? end : end - stored;
        for (const jali::io::StoredTensor& tensor : contents.tensors) {
            if (tensor.data.data() != next) std::abort();
            next += tensor.data.size();
        }
        if (next != end) std::abort();
    } catch (const jali::FileError&) {
    }
    return 0;
}

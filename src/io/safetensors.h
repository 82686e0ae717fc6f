// safetensors files: named tensors, read and written whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/read_file.h"

namespace jali::io {

// The element types of the format.
enum class StoredType : uint8_t {
    kBool,
    kUint8,
    kInt8,
    kFloat8E5M2,
    kFloat8E4M3,
    kInt16,
    kUint16,
    kFloat16,
    kBFloat16,
    kInt32,
    kUint32,
    kFloat32,
    kFloat64,
    kInt64,
    kUint64,
};

int64_t bytes_of(StoredType type);
std::string_view name_of(StoredType type);  // "F32", "BF16", "BOOL", ...

// A dense row-major tensor whose bytes belong to somebody else. The format promises no alignment of `data`.
struct StoredTensor {
    std::string name;
    StoredType type = StoredType::kFloat32;
    std::vector<int64_t> shape;  // empty: one element
    std::span<const uint8_t> data;
};

using Metadata = std::map<std::string, std::string>;

struct StoredTensors {
    std::vector<StoredTensor> tensors;  // in the order of their bytes
    Metadata metadata;                  // the member "__metadata__"
};

// Throws FileError naming `file` unless `bytes` are exactly one header and the tensors that it describes: offsets in
// bounds, adjacent, without overlap, and as many bytes as shape and type need. Spans point into `bytes`.
StoredTensors decode_safetensors(std::span<const uint8_t> bytes, std::string_view file);

// A file in memory: the spans stay valid while it lives.
class SafetensorsFile {
   public:
    explicit SafetensorsFile(const std::filesystem::path& path);
    SafetensorsFile(SafetensorsFile&&) = default;
    SafetensorsFile& operator=(SafetensorsFile&&) = default;

    const std::vector<StoredTensor>& tensors() const { return contents_.tensors; }
    const Metadata& metadata() const { return contents_.metadata; }
    // Null where no tensor has that name.
    const StoredTensor* find(std::string_view name) const;

   private:
    AlignedBytes bytes_;
    StoredTensors contents_;
};

// Writes atomically. The bytes start at a multiple of 64, widest types first, so that each tensor is aligned to its
// own type. Throws Error where names repeat or a span has another size than its shape, and FileError.
void write_safetensors(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                       const Metadata& metadata = {});

}  // namespace jali::io

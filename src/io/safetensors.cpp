#include "io/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "io/atomic_file.h"
#include "jali/error.h"

namespace jali::io {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kLargestHeader = 100'000'000;  // the format's own limit
constexpr size_t kDataAlignment = 64;
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr std::string_view kMetadataName = "__metadata__";

struct TypeInfo {
    std::string_view name;
    int64_t bytes;
};
// By StoredType.
constexpr std::array<TypeInfo, 15> kTypes{{{"BOOL", 1},
                                           {"U8", 1},
                                           {"I8", 1},
                                           {"F8_E5M2", 1},
                                           {"F8_E4M3", 1},
                                           {"I16", 2},
                                           {"U16", 2},
                                           {"F16", 2},
                                           {"BF16", 2},
                                           {"I32", 4},
                                           {"U32", 4},
                                           {"F32", 4},
                                           {"F64", 8},
                                           {"I64", 8},
                                           {"U64", 8}}};

// Bytes of a tensor, or nothing where they pass 2^63 - 1.
std::optional<int64_t> data_bytes(StoredType type, std::span<const int64_t> shape) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    int64_t bytes = bytes_of(type);
    for (const int64_t extent : shape) {
        if (bytes > kLargest / extent) return std::nullopt;
        bytes *= extent;
    }
    return bytes;
}

// The header's JSON text, checked against the file's length.
std::string_view header_text(std::span<const uint8_t> bytes, std::string_view file) {
    if (bytes.size() < kLengthBytes) {
        throw FileError(fmt::format("'{}' is truncated: it has {} bytes, expected at least 8", file, bytes.size()));
    }
    uint64_t length = 0;
    for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | bytes[i];
    if (length > kLargestHeader) {
        throw FileError(
            fmt::format("'{}' is not a safetensors file: its header would have {} bytes, expected at most {}", file,
                        length, kLargestHeader));
    }
    if (length > bytes.size() - kLengthBytes) {
        throw FileError(fmt::format("'{}' is truncated: its header ends at byte {} and it has {}", file,
                                    kLengthBytes + length, bytes.size()));
    }
    const std::string_view text{reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length};
    if (!text.starts_with('{')) {
        throw FileError(fmt::format("'{}' is not a safetensors file: its header does not begin with '{{'", file));
    }
    return text;
}

// Parses the header. The library keeps the last of two members with one name; here they are an error, and so is
// nesting deeper than a tensor's lists, before it can cost memory.
Json parse_header(std::string_view text, std::string_view file) {
    constexpr int kDeepest = 3;
    std::set<std::string> tensor_names, member_names;
    const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kDeepest) throw FileError(fmt::format("'{}' has a header nested deeper than the format", file));
        if (event == Json::parse_event_t::object_start && depth == 1) member_names.clear();
        if (event == Json::parse_event_t::key && depth <= 2) {
            const std::string& name = parsed.get_ref<const std::string&>();
            if (!(depth == 1 ? tensor_names : member_names).insert(name).second) {
                throw FileError(fmt::format("'{}' names '{}' twice in its header", file, name));
            }
        }
        return true;
    };
    try {
        return Json::parse(text.begin(), text.end(), check);
    } catch (const Json::parse_error& error) {
        throw FileError(fmt::format("'{}' has a header that is not JSON: wrong at byte {}", file, error.byte));
    } catch (const Json::out_of_range&) {  // 1e999
        throw FileError(fmt::format("'{}' has a number in its header that is too large", file));
    }
}

Metadata read_metadata(const Json& members, std::string_view file) {
    Metadata metadata;
    if (!members.is_object()) throw FileError(fmt::format("'{}' has a __metadata__ that is not an object", file));
    for (const auto& [key, value] : members.items()) {
        if (!value.is_string()) {
            throw FileError(fmt::format("'{}' has a __metadata__ whose '{}' is not a string", file, key));
        }
        metadata[key] = value.get<std::string>();
    }
    return metadata;
}

// A list of integers from 0 to 2^63 - 1.
std::vector<int64_t> read_integers(const Json& tensor, const char* member, std::string_view name,
                                   std::string_view file) {
    const auto list = tensor.find(member);
    if (list == tensor.end() || !list->is_array()) {
        throw FileError(fmt::format("'{}' gives '{}' no list '{}'", file, name, member));
    }
    std::vector<int64_t> values;
    for (const Json& value : *list) {
        if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(kLargest)) {
            throw FileError(fmt::format("'{}' has {} in '{}' of '{}', expected an integer from 0 to {}", file,
                                        value.dump(-1, ' ', true, Json::error_handler_t::replace), member, name,
                                        kLargest));
        }
        values.push_back(static_cast<int64_t>(value.get<uint64_t>()));
    }
    return values;
}

StoredType read_type(const Json& tensor, std::string_view name, std::string_view file) {
    const auto dtype = tensor.find("dtype");
    if (dtype == tensor.end() || !dtype->is_string()) {
        throw FileError(fmt::format("'{}' gives '{}' no dtype", file, name));
    }
    const std::string& text = dtype->get_ref<const std::string&>();
    const auto* type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeInfo& candidate) { return candidate.name == text; });
    if (type == kTypes.end()) {
        throw FileError(fmt::format("'{}' gives '{}' the dtype '{}', expected one of the format's (F32, BF16, ...)",
                                    file, name, text));
    }
    return static_cast<StoredType>(type - kTypes.begin());
}

// Each tensor must begin where the one before ends, and the last end where the file does.
void check_adjacent(std::span<const StoredTensor> tensors, std::span<const uint8_t> data, std::string_view file) {
    int64_t end = 0;
    for (const StoredTensor& tensor : tensors) {
        const int64_t begin = tensor.data.data() - data.data();
        if (begin != end) {
            throw FileError(
                fmt::format("'{}' begins the data of '{}' at byte {}, expected {}: tensors must be adjacent", file,
                            tensor.name, begin, end));
        }
        end += static_cast<int64_t>(tensor.data.size());
    }
    if (end != static_cast<int64_t>(data.size())) {
        throw FileError(
            fmt::format("'{}' has {} bytes of data, expected the {} of its tensors", file, data.size(), end));
    }
}

StoredTensor read_tensor(const std::string& name, const Json& members, std::span<const uint8_t> data,
                         std::string_view file) {
    if (!members.is_object()) throw FileError(fmt::format("'{}' describes '{}' by no object", file, name));
    for (const auto& [key, value] : members.items()) {
        if (key != "dtype" && key != "shape" && key != "data_offsets") {
            throw FileError(fmt::format("'{}' gives '{}' the member '{}', expected dtype, shape and data_offsets", file,
                                        name, key));
        }
    }
    StoredTensor tensor{name, read_type(members, name, file), read_integers(members, "shape", name, file), {}};
    const std::vector<int64_t> offsets = read_integers(members, "data_offsets", name, file);
    if (offsets.size() != 2) {
        throw FileError(fmt::format("'{}' gives '{}' {} data_offsets, expected 2", file, name, offsets.size()));
    }
    if (offsets[0] > offsets[1] || offsets[1] > static_cast<int64_t>(data.size())) {
        throw FileError(fmt::format("'{}' puts '{}' at bytes {} to {} of its {} bytes of data", file, name, offsets[0],
                                    offsets[1], data.size()));
    }
    const std::optional<int64_t> expected = data_bytes(tensor.type, tensor.shape);
    const int64_t stored = offsets[1] - offsets[0];
    if (!expected || *expected != stored) {
        throw FileError(fmt::format("'{}' stores '{}' in {} bytes, but {} ({}) needs {}", file, name, stored,
                                    name_of(tensor.type), fmt::join(tensor.shape, ", "),
                                    expected ? fmt::format("{}", *expected) : "more than 2^63 - 1"));
    }
    tensor.data = data.subspan(static_cast<size_t>(offsets[0]), static_cast<size_t>(stored));
    return tensor;
}

// The header's JSON with offsets in the order of `tensors`, padded so that the data is aligned.
std::string format_header(std::span<const StoredTensor> tensors, const Metadata& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header[std::string(kMetadataName)] = metadata;
    int64_t offset = 0;
    for (const StoredTensor& tensor : tensors) {
        const int64_t end = offset + static_cast<int64_t>(tensor.data.size());
        header[tensor.name] = {
            {"dtype", name_of(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump();
    const size_t end = (kLengthBytes + text.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    text.resize(end - kLengthBytes, ' ');
    return text;
}

void check_writable(std::span<const StoredTensor> tensors, const std::filesystem::path& path) {
    std::set<std::string_view> names;
    for (const StoredTensor& tensor : tensors) {
        if (tensor.name == kMetadataName || !names.insert(tensor.name).second) {
            throw Error(fmt::format("'{}' cannot hold two tensors named '{}'", path.string(), tensor.name));
        }
        const std::optional<int64_t> expected = data_bytes(tensor.type, tensor.shape);
        if (!expected || *expected != static_cast<int64_t>(tensor.data.size())) {
            throw Error(fmt::format("tensor '{}' has {} bytes, but {} ({}) needs {}", tensor.name, tensor.data.size(),
                                    name_of(tensor.type), fmt::join(tensor.shape, ", "), expected.value_or(kLargest)));
        }
    }
}

}  // namespace

int64_t bytes_of(StoredType type) {
    return kTypes[static_cast<size_t>(type)].bytes;
}

std::string_view name_of(StoredType type) {
    return kTypes[static_cast<size_t>(type)].name;
}

StoredTensors decode_safetensors(std::span<const uint8_t> bytes, std::string_view file) {
    const std::string_view text = header_text(bytes, file);
    const Json header = parse_header(text, file);
    const std::span<const uint8_t> data = bytes.subspan(kLengthBytes + text.size());
    StoredTensors contents;
    for (const auto& [name, members] : header.items()) {
        if (name == kMetadataName) {
            contents.metadata = read_metadata(members, file);
        } else {
            contents.tensors.push_back(read_tensor(name, members, data, file));
        }
    }
    std::sort(contents.tensors.begin(), contents.tensors.end(), [](const StoredTensor& x, const StoredTensor& y) {
        // An empty tensor takes no place and goes before the one that begins where it stands.
        return std::pair(x.data.data(), x.data.size()) < std::pair(y.data.data(), y.data.size());
    });
    check_adjacent(contents.tensors, data, file);
    return contents;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : bytes_(read_file_aligned(path)), contents_(decode_safetensors(bytes_, path.string())) {}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
    for (const StoredTensor& tensor : contents_.tensors) {
        if (tensor.name == name) return &tensor;
    }
    return nullptr;
}

void write_safetensors(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                       const Metadata& metadata) {
    check_writable(tensors, path);
    std::vector<StoredTensor> ordered(tensors.begin(), tensors.end());
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const StoredTensor& x, const StoredTensor& y) { return bytes_of(x.type) > bytes_of(y.type); });
    const std::string header = format_header(ordered, metadata);
    std::array<uint8_t, kLengthBytes> length{};
    for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<uint8_t>(uint64_t{header.size()} >> (8 * i));

    AtomicFile file(path);
    file.write(length);
    file.write(header);
    for (const StoredTensor& tensor : ordered) file.write(tensor.data);
    file.commit();
}

}  // namespace jali::io

#include "io/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "io/npy_header.h"
#include "io/read_file.h"
#include "jali/error.h"

namespace jali::io {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

enum class Kind : uint8_t { kBoolean, kSigned, kUnsigned };
enum class ByteOrder : uint8_t { kLittle, kBig };

struct ElementType {
    Kind kind;
    size_t bytes;
    ByteOrder order;
};

// '<i8' and the like; nothing where the elements are neither integers nor booleans.
std::optional<ElementType> element_type(std::string_view descr) {
    if (descr.size() != 3) return std::nullopt;
    const char order = descr[0], kind = descr[1];
    const size_t bytes = static_cast<size_t>(descr[2] - '0');
    if (order != '<' && order != '>' && !(order == '|' && bytes == 1)) return std::nullopt;
    const ByteOrder byte_order = order == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
    if (kind == 'b' && bytes == 1) return ElementType{Kind::kBoolean, 1, byte_order};
    if (kind != 'i' && kind != 'u') return std::nullopt;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return std::nullopt;
    return ElementType{kind == 'i' ? Kind::kSigned : Kind::kUnsigned, bytes, byte_order};
}

// The number of elements, or nothing where it passes 2^63 - 1.
std::optional<int64_t> count_of(std::span<const int64_t> shape) {
    for (const int64_t extent : shape) {
        if (extent == 0) return 0;
    }
    int64_t count = 1;
    for (const int64_t extent : shape) {
        if (count > kLargest / extent) return std::nullopt;
        count *= extent;
    }
    return count;
}

uint64_t load(const uint8_t* bytes, const ElementType& type) {
    uint64_t value = 0;
    for (size_t i = 0; i < type.bytes; ++i) {
        value = value << 8 | bytes[type.order == ByteOrder::kBig ? i : type.bytes - 1 - i];
    }
    if (type.kind == Kind::kSigned && type.bytes < 8) {
        const uint64_t sign = uint64_t{1} << (8 * type.bytes - 1);
        value = (value ^ sign) - sign;
    }
    return value;
}

// Elements between neighbours along each dimension of the file.
std::vector<int64_t> strides_of(std::span<const int64_t> shape, bool fortran_order) {
    std::vector<int64_t> strides(shape.size());
    int64_t stride = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
        const size_t dimension = fortran_order ? i : shape.size() - 1 - i;
        strides[dimension] = stride;
        stride *= shape[dimension];
    }
    return strides;
}

// Calls visit(position in the file) for every element, in row-major order.
template <class Visit>
void for_each_position(const NpyHeader& header, int64_t count, Visit visit) {
    if (count == 0) return;  // the other extents may then be of any size
    const std::vector<int64_t> strides = strides_of(header.shape, header.fortran_order);
    std::vector<int64_t> index(header.shape.size(), 0);
    int64_t position = 0;
    for (int64_t element = 0; element < count; ++element) {
        visit(position);
        for (size_t dimension = index.size(); dimension-- > 0;) {
            position += strides[dimension];
            if (++index[dimension] < header.shape[dimension]) break;
            position -= strides[dimension] * header.shape[dimension];
            index[dimension] = 0;
        }
    }
}

void check_size(const NpyHeader& header, const ElementType& type, size_t data_bytes, std::string_view file) {
    const std::optional<int64_t> count = count_of(header.shape);
    if (!count || *count > kLargest / static_cast<int64_t>(type.bytes)) {
        throw FileError(fmt::format("'{}' says that its shape is ({}), which is more than 2^63 - 1 bytes", file,
                                    fmt::join(header.shape, ", ")));
    }
    const int64_t expected = *count * static_cast<int64_t>(type.bytes);
    if (static_cast<int64_t>(data_bytes) == expected) return;
    throw FileError(fmt::format("'{}' {}: it has {} bytes of elements, and its shape ({}) of {} needs {}", file,
                                static_cast<int64_t>(data_bytes) < expected ? "is truncated" : "is too long",
                                data_bytes, fmt::join(header.shape, ", "), header.descr, expected));
}

}  // namespace

NpyArray decode_npy(std::span<const uint8_t> bytes, std::string_view file) {
    NpyHeader header = parse_npy_header(bytes, file);
    const std::optional<ElementType> type = element_type(header.descr);
    if (!type) {
        throw FileError(
            fmt::format("'{}' holds elements of type '{}', expected integers or booleans", file, header.descr));
    }
    const std::span<const uint8_t> data = bytes.subspan(header.data_begin);
    check_size(header, *type, data.size(), file);
    const int64_t count = static_cast<int64_t>(data.size() / type->bytes);

    NpyArray array;
    array.is_boolean = type->kind == Kind::kBoolean;
    if (array.is_boolean) {
        array.booleans.reserve(static_cast<size_t>(count));
        for_each_position(header, count, [&](int64_t position) {
            array.booleans.push_back(data[static_cast<size_t>(position)] != 0 ? 1 : 0);
        });
    } else {
        array.integers.reserve(static_cast<size_t>(count));
        for_each_position(header, count, [&](int64_t position) {
            const uint64_t value = load(data.data() + static_cast<size_t>(position) * type->bytes, *type);
            if (type->kind == Kind::kUnsigned && value > static_cast<uint64_t>(kLargest)) {
                throw FileError(fmt::format("'{}' holds {} at element {} of {}, expected at most {}", file, value,
                                            array.integers.size(), count, kLargest));
            }
            array.integers.push_back(static_cast<int64_t>(value));
        });
    }
    array.shape = std::move(header.shape);
    return array;
}

NpyArray read_npy(const std::filesystem::path& path) {
    return decode_npy(read_file(path), path.string());
}

NpyBooleanWriter::NpyBooleanWriter(const std::filesystem::path& path, std::span<const int64_t> shape) : file_(path) {
    file_.write(format_npy_header("|b1", shape));
    row_bytes_ = shape.empty() ? 1 : shape.back();
    rows_left_ = 1;
    for (size_t i = 0; i + 1 < shape.size(); ++i) rows_left_ *= shape[i];
}

void NpyBooleanWriter::write_row(std::span<const uint8_t> row) {
    if (static_cast<int64_t>(row.size()) != row_bytes_) {
        throw Error(
            fmt::format("a row of '{}' has {} elements, expected {}", file_.path().string(), row.size(), row_bytes_));
    }
    if (rows_left_ == 0) throw Error(fmt::format("'{}' has all of its rows already", file_.path().string()));
    file_.write(row);
    --rows_left_;
}

void NpyBooleanWriter::commit() {
    if (rows_left_ != 0 && row_bytes_ != 0) {
        throw Error(fmt::format("'{}' misses {} rows of its shape", file_.path().string(), rows_left_));
    }
    file_.commit();
}

}  // namespace jali::io

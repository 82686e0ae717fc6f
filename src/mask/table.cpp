#include "jali/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "jali/error.h"
#include "mask/table_storage.h"

namespace jali {

namespace {

constexpr int64_t kMaximumSize = std::numeric_limits<int32_t>::max();

// The number of elements of a shape, checked.
int64_t size_of(const std::string& name, const std::vector<int64_t>& shape) {
    if (shape.empty() || shape.size() > 4) {
        throw Error(fmt::format("table {} has rank {} and must have rank 1 to 4", name, shape.size()));
    }
    int64_t size = 1;
    for (const int64_t extent : shape) {
        if (extent < 0 || extent > kMaximumSize) {
            throw Error(
                fmt::format("table {} has an extent of {} and each must be 0 to {}", name, extent, kMaximumSize));
        }
        if (__builtin_mul_overflow(size, extent, &size) || size > int64_t{1} << 40) {
            throw Error(fmt::format("table {} of shape [{}] has more than 2^40 values", name, fmt::join(shape, ", ")));
        }
    }
    return size;
}

std::shared_ptr<Table::Storage> storage_for(const std::string& name, TableType type, std::vector<int64_t> shape,
                                            size_t values) {
    const int64_t size = size_of(name, shape);
    if (static_cast<int64_t>(values) != size) {
        throw Error(fmt::format("table {} of shape [{}] needs {} values but has {}", name, fmt::join(shape, ", "), size,
                                values));
    }
    auto storage = std::make_shared<Table::Storage>();
    storage->type = type;
    storage->size = size;
    storage->strides.resize(shape.size());
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        storage->strides[i] = stride;
        stride *= shape[i];
    }
    storage->shape = std::move(shape);
    return storage;
}

std::vector<int64_t> ids_of_lengths(const std::string& name, std::span<const int64_t> lengths) {
    int64_t total = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] < 0) throw Error(fmt::format("document {} of table {} has length {}", i, name, lengths[i]));
        if (lengths[i] > kMaximumSize - total) {
            throw Error(fmt::format("the documents of table {} hold more than {} tokens", name, kMaximumSize));
        }
        total += lengths[i];
    }
    std::vector<int64_t> ids;
    ids.reserve(static_cast<size_t>(total));
    for (size_t i = 0; i < lengths.size(); ++i) {
        ids.insert(ids.end(), static_cast<size_t>(lengths[i]), static_cast<int64_t>(i));
    }
    return ids;
}

}  // namespace

ValueRange Table::Storage::range(int64_t first, int64_t last) const {
    std::call_once(pyramid_once_, [this] {
        if (type == TableType::kBoolean) {
            boolean_pyramid_.emplace(booleans);
        } else {
            integer_pyramid_.emplace(integers);
        }
    });
    return type == TableType::kBoolean ? boolean_pyramid_->range(first, last) : integer_pyramid_->range(first, last);
}

Table::Table(std::string name, std::shared_ptr<const Storage> storage)
    : name_(std::move(name)), storage_(std::move(storage)) {}

Table::Table(std::string name, std::span<const int64_t> values)
    : Table(integers(std::move(name), values, {static_cast<int64_t>(values.size())})) {}

Table::Table(std::string name, std::span<const int32_t> values)
    : Table(std::move(name), std::vector<int64_t>(values.begin(), values.end())) {}

Table Table::integers(std::string name, std::span<const int64_t> values, std::vector<int64_t> shape) {
    auto storage = storage_for(name, TableType::kInteger, std::move(shape), values.size());
    storage->integers.assign(values.begin(), values.end());
    return {std::move(name), std::move(storage)};
}

Table Table::booleans(std::string name, std::span<const uint8_t> values, std::vector<int64_t> shape) {
    auto storage = storage_for(name, TableType::kBoolean, std::move(shape), values.size());
    storage->booleans.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) storage->booleans[i] = values[i] != 0 ? 1 : 0;
    return {std::move(name), std::move(storage)};
}

Table Table::documents(std::string name, std::span<const int64_t> lengths) {
    const std::vector<int64_t> ids = ids_of_lengths(name, lengths);
    return {std::move(name), ids};
}

Table Table::documents_from_offsets(std::string name, std::span<const int64_t> offsets) {
    if (offsets.empty() || offsets.front() != 0) {
        throw Error(fmt::format("the offsets of table {} must begin with 0", name));
    }
    std::vector<int64_t> lengths;
    for (size_t i = 1; i < offsets.size(); ++i) {
        if (offsets[i] < offsets[i - 1]) {
            throw Error(fmt::format("the offsets of table {} fall from {} to {} at position {}", name, offsets[i - 1],
                                    offsets[i], i));
        }
        lengths.push_back(offsets[i] - offsets[i - 1]);
    }
    return documents(std::move(name), lengths);
}

const std::string& Table::name() const {
    return name_;
}
TableType Table::type() const {
    return storage_->type;
}
int Table::rank() const {
    return static_cast<int>(storage_->shape.size());
}
const std::vector<int64_t>& Table::shape() const {
    return storage_->shape;
}
int64_t Table::size() const {
    return storage_->size;
}
int64_t Table::operator[](int64_t position) const {
    return storage_->value(position);
}
std::span<const int64_t> Table::integers() const {
    return storage_->integers;
}
std::span<const uint8_t> Table::bytes() const {
    return storage_->booleans;
}
Table Table::renamed(std::string name) const {
    return {std::move(name), storage_};
}

bool Table::same_values(const Table& other) const {
    return storage_ == other.storage_ ||
           (type() == other.type() && shape() == other.shape() && storage_->integers == other.storage_->integers &&
            storage_->booleans == other.storage_->booleans);
}

}  // namespace jali

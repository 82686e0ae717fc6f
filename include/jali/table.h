// Tables: the captured integer or boolean tensors that a predicate indexes (document ids, lengths, offsets).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace jali {

class Expression;

enum class TableType : uint8_t { kBoolean, kInteger };

// An immutable tensor of rank 1 to 4, row-major. Copies share the values.
class Table {
   public:
    // Copies `values`; shape {values.size()}. `name` is what printed predicates and errors call the table.
    Table(std::string name, std::span<const int64_t> values);
    Table(std::string name, std::span<const int32_t> values);

    // Copies `values`, whose count must be the product of `shape` (rank 1 to 4, no negative extent).
    static Table integers(std::string name, std::span<const int64_t> values, std::vector<int64_t> shape);
    // The same with booleans, one byte each: 0 is False, anything else True.
    static Table booleans(std::string name, std::span<const uint8_t> values, std::vector<int64_t> shape);

    // Document ids 0, 1, 2, ... of packed documents: {2, 3} gives 0 0 1 1 1. A length of 0 uses up its id.
    static Table documents(std::string name, std::span<const int64_t> lengths);
    // The same from cumulative offsets (cu_seqlens): {0, 2, 5} gives 0 0 1 1 1.
    static Table documents_from_offsets(std::string name, std::span<const int64_t> offsets);

    const std::string& name() const;
    TableType type() const;
    int rank() const;
    const std::vector<int64_t>& shape() const;
    int64_t size() const;

    // The value at a row-major position, booleans as 0 or 1.
    int64_t operator[](int64_t position) const;
    // The values themselves; integers() is empty for a boolean table and bytes() for an integer one.
    std::span<const int64_t> integers() const;
    std::span<const uint8_t> bytes() const;

    // The same values under another name; shares storage.
    Table renamed(std::string name) const;
    // True where both have the same type, shape and values (names aside).
    bool same_values(const Table& other) const;

    // Reads the table: doc[q], grid(q, kv). The number of indices must equal the rank.
    Expression operator[](const Expression& index) const;
    template <class... Indices>
    Expression operator()(const Indices&... indices) const;

    // Builder-facing: answers min and max over index ranges; built on first use, shared by copies, thread-safe.
    struct Storage;
    const Storage& storage() const { return *storage_; }

   private:
    Table(std::string name, std::shared_ptr<const Storage> storage);
    Expression read(const std::vector<Expression>& indices) const;

    std::string name_;
    std::shared_ptr<const Storage> storage_;
};

}  // namespace jali

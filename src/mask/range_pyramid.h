// Answers min and max over any range of an array: a binary tree of minima and maxima over blocks of the array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace jali {

struct ValueRange {
    int64_t lo;
    int64_t hi;
};

template <class T>
class RangePyramid {
   public:
    // `values` must outlive the pyramid.
    explicit RangePyramid(std::span<const T> values)
        : values_(values), blocks_((values.size() + kBlock - 1) / kBlock), tree_(2 * blocks_) {
        for (size_t i = 0; i < blocks_; ++i) {
            tree_[blocks_ + i] = scan(i * kBlock, std::min((i + 1) * kBlock, values.size()));
        }
        for (size_t i = blocks_; i-- > 1;) tree_[i] = join(tree_[2 * i], tree_[2 * i + 1]);
    }

    // Over the positions [first, last], which must not be empty.
    ValueRange range(int64_t first, int64_t last) const {
        const auto begin = static_cast<size_t>(first);
        const auto end = static_cast<size_t>(last) + 1;
        const size_t first_block = (begin + kBlock - 1) / kBlock;
        const size_t last_block = end / kBlock;
        Extremes found = scan(begin, begin + 1);
        if (first_block >= last_block) {
            found = join(found, scan(begin, end));
        } else {
            if (begin < first_block * kBlock) found = join(found, scan(begin, first_block * kBlock));
            if (last_block * kBlock < end) found = join(found, scan(last_block * kBlock, end));
            // Bottom-up walk of the tree over the whole blocks in between.
            for (size_t l = first_block + blocks_, r = last_block + blocks_; l < r; l /= 2, r /= 2) {
                if (l % 2 == 1) found = join(found, tree_[l++]);
                if (r % 2 == 1) found = join(found, tree_[--r]);
            }
        }
        return {static_cast<int64_t>(found.lo), static_cast<int64_t>(found.hi)};
    }

    int64_t bytes() const { return static_cast<int64_t>(tree_.size() * sizeof(Extremes)); }

   private:
    // About two cache lines of values: scanning them costs no more than a step of the tree.
    static constexpr size_t kBlock = 128 / sizeof(T);

    struct Extremes {
        T lo, hi;
    };

    static Extremes join(const Extremes& x, const Extremes& y) { return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)}; }

    Extremes scan(size_t begin, size_t end) const {
        Extremes found{values_[begin], values_[begin]};
        for (size_t i = begin + 1; i < end; ++i) found = join(found, {values_[i], values_[i]});
        return found;
    }

    std::span<const T> values_;
    size_t blocks_;
    std::vector<Extremes> tree_;
};

}  // namespace jali

#include "mask/first_failure.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "mask/tile_evaluator.h"

namespace jali {

namespace {

struct Pair {
    int64_t q, kv;
    bool operator<(const Pair& other) const { return q != other.q ? q < other.q : kv < other.kv; }
};

std::optional<Pair> first_in(const TileBits& failures, const TilePlace& place) {
    for (size_t word = 0; word < failures.size(); ++word) {
        if (failures[word] == 0) continue;
        const auto bit = std::countr_zero(failures[word]);
        return Pair{place.q_begin + static_cast<int64_t>(word / 2),
                    place.kv_begin + 64 * static_cast<int64_t>(word % 2) + bit};
    }
    return std::nullopt;
}

// The first failing pair of queries [q_begin, q_end) and keys [kv_begin, kv_end): regions that interval arithmetic
// proves free of failures are skipped, queries are halved before keys, and up to 128 queries are searched together.
std::optional<Pair> first_failing(TileEvaluator& evaluator, int64_t q_begin, int64_t q_end, int64_t kv_begin,
                                  int64_t kv_end) {
    if (!evaluator.classify({q_begin, q_end - 1, kv_begin, kv_end - 1}).may_fail) return std::nullopt;
    const int64_t rows = q_end - q_begin, columns = kv_end - kv_begin;
    if (rows > kTileEdge) {
        const int64_t middle = q_begin + rows / 2;
        const auto above = first_failing(evaluator, q_begin, middle, kv_begin, kv_end);
        return above ? above : first_failing(evaluator, middle, q_end, kv_begin, kv_end);
    }
    if (columns > kTileEdge) {
        const int64_t middle = kv_begin + columns / 2;
        const auto left = first_failing(evaluator, q_begin, q_end, kv_begin, middle);
        // Only a row above the one found on the left can still come first.
        const int64_t rows_left = left ? left->q : q_end;
        if (rows_left == q_begin) return left;
        const auto right = first_failing(evaluator, q_begin, rows_left, middle, kv_end);
        return right ? right : left;
    }
    const TilePlace place{q_begin, kv_begin, static_cast<int>(rows), static_cast<int>(columns)};
    evaluator.evaluate(place);
    return evaluator.has_failures() ? first_in(evaluator.failures(), place) : std::nullopt;
}

}  // namespace

void throw_first_failure(const Predicate& keep, const Domain& domain) {
    for (int64_t b = 0; b < domain.batch; ++b) {
        for (int64_t h = 0; h < domain.heads; ++h) {
            const Program program = compile(keep, domain, b, h);
            TileEvaluator evaluator(program);
            if (const auto pair = first_failing(evaluator, 0, domain.q_len, 0, domain.kv_len)) {
                evaluate(keep, domain, b, h, pair->q, pair->kv);  // throws
            }
        }
    }
    throw std::logic_error("a predicate that fails nowhere was said to fail");
}

}  // namespace jali

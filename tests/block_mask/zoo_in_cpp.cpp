#include "block_mask/zoo_in_cpp.h"

namespace jali::test {

namespace {

using namespace indices;

Expression within(const Expression& x, const Expression& radius) {
    return abs(x) <= radius;
}

Predicate block_diffusion(const ZooValues& values) {
    const int64_t n = values.scalars.at("n");
    const Expression own = select(q < n, floor_div(q, 16) == floor_div(kv, 16), false);
    const Expression clean =
        select(q<n, floor_div(q, 16)> floor_div(kv - n, 16), floor_div(q - n, 16) >= floor_div(kv - n, 16));
    return select(kv < n, own, clean);
}

Predicate clamped_neighbourhood(const ZooValues&) {
    return within(clamp(floor_div(q, 40), 3, 26) - floor_div(kv, 40), 3) &&
           within(clamp(floor_mod(q, 40), 3, 36) - floor_mod(kv, 40), 3);
}

}  // namespace

const std::map<std::string, std::function<Predicate(const ZooValues&)>>& zoo_in_cpp() {
    using V = const ZooValues&;
    static const std::map<std::string, std::function<Predicate(V)>> zoo = {
        {"full", [](V) { return true; }},
        {"nothing", [](V) { return false; }},
        {"causal", [](V) { return q >= kv; }},
        {"causal_odd", [](V) { return q >= kv; }},
        {"causal_bottom_right", [](V) { return q + kv_len - q_len >= kv; }},
        {"window", [](V v) { return 0 <= q - kv && q - kv < v.scalars.at("w"); }},
        {"window_and_sinks", [](V) { return q >= kv && (q - kv < 256 || kv < 4); }},
        {"both_sides_window", [](V) { return within(q - kv, 100); }},
        {"dilated_window", [](V) { return within(q - kv, 256) && floor_mod(q - kv, 3) == 0; }},
        {"documents_causal", [](V v) { return v.tables.at("doc")[q] == v.tables.at("doc")[kv] && q >= kv; }},
        {"documents_full", [](V v) { return v.tables.at("doc")[q] == v.tables.at("doc")[kv]; }},
        {"documents_as_starts", [](V v) { return v.tables.at("start")[q] <= kv && kv <= q; }},
        {"documents_by_offsets",
         [](V v) {
             const Table &doc = v.tables.at("doc"), &begin = v.tables.at("begin");
             return kv >= begin[doc[q]] && kv < begin[doc[q] + 1] && q >= kv;
         }},
        {"documents_unsorted", [](V v) { return v.tables.at("doc")[q] == v.tables.at("doc")[kv]; }},
        {"documents_window",
         [](V v) { return v.tables.at("doc")[q] == v.tables.at("doc")[kv] && 0 <= q - kv && q - kv < 200; }},
        {"prefix", [](V v) { return kv < v.tables.at("prefix")[b] || q >= kv; }},
        {"key_lengths", [](V v) { return kv < v.tables.at("length")[b]; }},
        {"chunked_causal", [](V) { return floor_div(q, 192) == floor_div(kv, 192) && q >= kv; }},
        {"block_causal", [](V) { return floor_div(q, 160) >= floor_div(kv, 160); }},
        {"per_head_window", [](V v) { return q >= kv && q - kv < v.tables.at("width")[h]; }},
        {"block_lists", [](V v) { return v.tables.at("pick")(h, floor_div(q, 128), floor_div(kv, 128)) != 0; }},
        {"bool_matrix", [](V v) { return v.tables.at("keep")(q, kv); }},
        {"image_neighbourhood",
         [](V) {
             return within(floor_div(q, 40) - floor_div(kv, 40), 5) && within(floor_mod(q, 40) - floor_mod(kv, 40), 5);
         }},
        {"image_neighbourhood_clamped", clamped_neighbourhood},
        {"block_diffusion", block_diffusion},
        {"shared_prefix",
         [](V v) {
             const Table& part = v.tables.at("part");
             return kv < v.scalars.at("p") || (part[q] == part[kv] && q >= kv);
         }},
        {"token_tree",
         [](V v) {
             const int64_t n = v.scalars.at("n");
             return kv < n || ((v.tables.at("ancestors")[q] >> (kv - n)) & 1) == 1;
         }},
        {"diagonal", [](V) { return q == kv; }},
        {"anti_causal_strict", [](V) { return q < kv; }},
        {"checkerboard", [](V) { return floor_mod(q + kv, 2) == 0; }},
        {"negative_floor", [](V) { return floor_mod(floor_div(q - kv, 7), 3) == 1; }},
        {"one_row", [](V v) { return kv <= v.scalars.at("pos"); }},
        {"guarded_read", [](V v) { return kv < 100 && v.tables.at("ok")[kv] != 0; }},
        {"xor", [](V) { return (q >= kv) ^ (floor_mod(kv, 64) == 0); }},
        {"bit_operators",
         [](V) {
             return (q | 3) - (kv & ~Expression(6)) > ((kv ^ q) >> 1) && (Expression(1) << floor_mod(kv, 5)) <= q;
         }},
        {"not_and_choice",
         [](V) { return select(floor_mod(q, 3) != 0, !(q < kv), where(floor_mod(kv, 2) == 0, true, q == kv)); }},
        {"minimum_maximum",
         [](V) { return minimum(minimum(q, kv), 90) * 2 >= maximum(q - kv, kv - q) && abs(-q) != kv; }},
        {"chained_index",
         [](V v) {
             const Table& grid = v.tables.at("grid");
             return grid(floor_mod(q, 7), floor_mod(kv, 9)) + grid(floor_mod(kv, 7), floor_mod(q, 9)) > 0;
         }},
        {"boolean_operators", [](V v) { return ~(q > kv) | ((v.tables.at("seen")[kv] & (kv >= 50)) ^ (q == 3)); }},
    };
    return zoo;
}

}  // namespace jali::test

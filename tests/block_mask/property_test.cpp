// Properties that hold for every predicate. A failure is shrunk by RapidCheck and shows the predicate as text; replay
// with RC_PARAMS="seed=..." as it prints.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "jali/block_mask.h"
#include "jali/error.h"
#include "jali/predicate_text.h"
#include "support/random_predicate.h"

namespace jali {
namespace {

using test::decode_predicate;

// Every bit of a mask by the definition, or the first failure in (b, h, q, kv) order.
struct Expected {
    std::vector<uint8_t> kept;
    std::optional<EvaluationError> failure;
};

Expected by_definition(const Predicate& keep, const Domain& domain) {
    Expected expected;
    try {
        for (int64_t b = 0; b < domain.batch; ++b) {
            for (int64_t h = 0; h < domain.heads; ++h) {
                for (int64_t q = 0; q < domain.q_len; ++q) {
                    for (int64_t kv = 0; kv < domain.kv_len; ++kv) {
                        expected.kept.push_back(evaluate(keep, domain, b, h, q, kv) ? 1 : 0);
                    }
                }
            }
        }
    } catch (const EvaluationError& error) {
        expected.failure = error;
    }
    return expected;
}

std::vector<uint8_t> bits_by_row(const BlockMask& mask, const Domain& domain) {
    std::vector<uint8_t> bits, row(static_cast<size_t>(domain.kv_len));
    for (int64_t b = 0; b < domain.batch; ++b) {
        for (int64_t h = 0; h < domain.heads; ++h) {
            for (int64_t q = 0; q < domain.q_len; ++q) {
                dense_row(mask, b, h, q, row);
                bits.insert(bits.end(), row.begin(), row.end());
            }
        }
    }
    return bits;
}

std::vector<uint8_t> bits_by_column(const BlockMask& mask, const Domain& domain) {
    const auto q_len = static_cast<size_t>(domain.q_len), kv_len = static_cast<size_t>(domain.kv_len);
    std::vector<uint8_t> bits(static_cast<size_t>(domain.batch * domain.heads) * q_len * kv_len), column(q_len);
    for (int64_t head = 0; head < domain.batch * domain.heads; ++head) {
        for (size_t kv = 0; kv < kv_len; ++kv) {
            dense_column(mask, head / domain.heads, head % domain.heads, static_cast<int64_t>(kv), column);
            for (size_t q = 0; q < q_len; ++q) {
                bits[(static_cast<size_t>(head) * q_len + q) * kv_len + kv] = column[q];
            }
        }
    }
    return bits;
}

std::vector<uint32_t> genome() {
    return *rc::gen::container<std::vector<uint32_t>>(rc::gen::arbitrary<uint32_t>());
}

Domain small_domain() {
    return {.batch = *rc::gen::inRange<int64_t>(1, 3),
            .heads = *rc::gen::inRange<int64_t>(1, 3),
            .q_len = *rc::gen::inRange<int64_t>(0, 200),
            .kv_len = *rc::gen::inRange<int64_t>(0, 280)};
}

GridChoice any_grid() {
    return *rc::gen::element(GridChoice::kAutomatic, GridChoice::kAligned, GridChoice::kAnchored);
}

void equals_the_definition(bool may_fail) {
    const Domain domain = small_domain();
    const Predicate keep = decode_predicate(
        genome(), {.q_len = domain.q_len, .kv_len = domain.kv_len, .may_fail = may_fail, .uses_heads = true});
    RC_LOG() << "predicate: " << to_text(keep) << "\n";
    const Expected expected = by_definition(keep, domain);
    const BuildOptions options{.domain = domain, .grid = any_grid()};
    if (!expected.failure) {
        const BlockMask mask = build_block_mask(keep, options);
        RC_ASSERT(bits_by_row(mask, domain) == expected.kept);
        RC_ASSERT(bits_by_column(mask, domain) == expected.kept);
        return;
    }
    try {
        build_block_mask(keep, options);
        RC_FAIL("the predicate fails at a real pair and the block mask was built");
    } catch (const EvaluationError& error) {
        RC_ASSERT(std::string(error.what()) == expected.failure->what());
    }
}

RC_GTEST_PROP(BlockMaskProperty, EqualsTheDefinitionAtEveryPair, ()) {
    equals_the_definition(false);
}

RC_GTEST_PROP(BlockMaskProperty, EqualsTheDefinitionOrReportsTheFirstFailingPair, ()) {
    equals_the_definition(true);
}

RC_GTEST_PROP(BlockMaskProperty, AssemblesToItself, ()) {
    const Domain domain = small_domain();
    const Predicate keep = decode_predicate(
        genome(), {.q_len = domain.q_len, .kv_len = domain.kv_len, .may_fail = false, .uses_heads = true});
    const BlockMask mask = build_block_mask(keep, {.domain = domain, .grid = any_grid()});
    BlockMask::Parts parts;
    parts.batch = mask.batch();
    parts.heads = mask.heads();
    parts.q_len = mask.q_len();
    parts.kv_len = mask.kv_len();
    parts.stencils.assign(mask.stencils().begin(), mask.stencils().end());
    for (int64_t b = 0; b < mask.batch(); ++b) {
        parts.grids.push_back(mask.grid(b));
        for (int64_t h = 0; h < mask.heads(); ++h) {
            const HeadView head = mask.head(b, h);
            std::vector<int64_t>& offsets = parts.row_offsets.emplace_back();
            std::vector<Run>& runs = parts.runs.emplace_back();
            for (const int64_t offset : head.row_offsets) offsets.push_back(offset - head.row_offsets.front());
            for (size_t tile = 0; tile < head.q_tiles.size(); ++tile) {
                const auto row = head.row(static_cast<int64_t>(tile));
                runs.insert(runs.end(), row.begin(), row.end());
            }
        }
    }
    RC_ASSERT(BlockMask::assemble(std::move(parts)) == mask);  // and no invariant is broken
}

RC_GTEST_PROP(BlockMaskProperty, CroppingCommutesWithBuilding, ()) {
    const Domain domain = small_domain();
    const Domain shorter{.batch = domain.batch,
                         .heads = domain.heads,
                         .q_len = *rc::gen::inRange<int64_t>(0, domain.q_len + 1),
                         .kv_len = *rc::gen::inRange<int64_t>(0, domain.kv_len + 1)};
    // The lengths as constants: a cropped mask keeps the predicate of the whole one.
    const Predicate keep = decode_predicate(
        genome(), {.q_len = domain.q_len, .kv_len = domain.kv_len, .may_fail = false, .uses_heads = true});
    const BlockMask whole = build_block_mask(keep, {.domain = domain, .grid = any_grid()});
    const BlockMask cropped = crop(whole, shorter.q_len, shorter.kv_len);
    std::vector<uint8_t> expected;
    const std::vector<uint8_t> bits = by_definition(keep, domain).kept;
    for (int64_t head = 0; head < domain.batch * domain.heads; ++head) {
        for (int64_t q = 0; q < shorter.q_len; ++q) {
            const auto row = bits.begin() + (head * domain.q_len + q) * domain.kv_len;
            expected.insert(expected.end(), row, row + shorter.kv_len);
        }
    }
    RC_ASSERT(bits_by_row(cropped, shorter) == expected);
    RC_ASSERT(bits_by_column(cropped, shorter) == expected);
    if (whole.aligned() && cropped.batch() == 1 && cropped.heads() == 1) {
        RC_ASSERT(cropped ==
                  block_mask_from_dense(
                      by_definition(keep, domain).kept.empty() || expected.empty()
                          ? std::vector<uint8_t>(expected)
                          : std::vector<uint8_t>(expected.begin(), expected.begin() + shorter.q_len * shorter.kv_len),
                      {.domain = {1, 1, shorter.q_len, shorter.kv_len}, .grid = GridChoice::kAligned}));
    }
}

RC_GTEST_PROP(BlockMaskProperty, SimplificationKeepsValuesAndErrors, ()) {
    const Domain domain{.batch = 1,
                        .heads = 1,
                        .q_len = *rc::gen::inRange<int64_t>(1, 12),
                        .kv_len = *rc::gen::inRange<int64_t>(1, 12)};
    const Predicate keep = decode_predicate(
        genome(), {.q_len = domain.q_len, .kv_len = domain.kv_len, .may_fail = true, .uses_heads = true});
    const Expected plain = by_definition(keep, domain), simple = by_definition(simplify(keep), domain);
    RC_ASSERT(plain.kept == simple.kept);
    RC_ASSERT(plain.failure.has_value() == simple.failure.has_value());
}

}  // namespace
}  // namespace jali

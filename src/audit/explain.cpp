#include "audit/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "audit/hot_spots.h"
#include "audit/kernel_text.h"
#include "audit/ptx_widths.h"
#include "audit/visible_text.h"

namespace jali::audit {

namespace {

using Sentences = std::vector<std::string>;

constexpr size_t kListedPlaces = 3;
constexpr size_t kListedKinds = 6;
// A count that moved by less than this, and by less than a twentieth, is not worth a sentence.
constexpr int64_t kFewInstructions = 8;

struct Kind {
    std::string_view name;
    int64_t InstructionMix::*count;
};
constexpr Kind kKinds[] = {
    {"matrix", &InstructionMix::matrix},
    {"async copies", &InstructionMix::async_copies},
    {"MUFU", &InstructionMix::special},
    {"shared", &InstructionMix::shared},
    {"global", &InstructionMix::global},
    {"local", &InstructionMix::local},
    {"constant", &InstructionMix::constant},
    {"barriers", &InstructionMix::barriers},
    {"branches", &InstructionMix::branches},
    {"moves", &InstructionMix::moves},
    {"conversions", &InstructionMix::conversions},
    {"floats", &InstructionMix::floats},
    {"integers", &InstructionMix::integers},
    {"predicates", &InstructionMix::predicates},
    {"logic (LOP3, SHF, PRMT)", &InstructionMix::logic},
    {"IMAD.MOV", &InstructionMix::imad_mov},
    {"IMAD.SHL", &InstructionMix::imad_shl},
    {"IMAD.IADD", &InstructionMix::imad_iadd},
    {"IMAD.WIDE", &InstructionMix::imad_wide},
    {"IMAD", &InstructionMix::imad},
};

std::string bytes_text(const Traffic& traffic) {
    return fmt::format("{}/{}", traffic.store_bytes, traffic.load_bytes);
}

// "128" where nothing changed, "128 -> 136" where it did.
std::string moved(int64_t before, int64_t after) {
    return before == after ? fmt::format("{}", before) : fmt::format("{} -> {}", before, after);
}

bool is_serialised(const Kernel& kernel) {
    return kernel.serialisation != Serialisation::kNone;
}

void explain_serialisation(const Kernel& before, const Kernel& after, Sentences& sentences) {
    if (is_serialised(before) == is_serialised(after)) return;
    if (is_serialised(before)) {
        sentences.emplace_back("wgmma is no longer waited for one by one");
        return;
    }
    std::string notes;
    for (const std::string& note : after.notes) {
        if (note.starts_with("C75")) notes += "; " + visible(note);
    }
    sentences.push_back(fmt::format("wgmma is serialised ({}): each group is waited for before the next{}",
                                    name_of(after.serialisation), notes));
}

struct Innermost {
    int64_t loops = 0, instructions = 0, branches = 0;
    std::string sizes;  // the largest, "1319, 527"
};

Innermost innermost_of(const Kernel& kernel) {
    Innermost innermost;
    std::vector<int64_t> sizes;
    for (const Loop& loop : kernel.loops) {
        if (!loop.innermost) continue;
        ++innermost.loops;
        innermost.instructions += loop.instructions;
        innermost.branches += loop.branches;
        sizes.push_back(loop.instructions);
    }
    std::sort(sizes.rbegin(), sizes.rend());
    const size_t listed = std::min<size_t>(sizes.size(), 4);
    innermost.sizes = fmt::format("{}", fmt::join(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(listed), ", "));
    if (listed < sizes.size()) innermost.sizes += ", ...";
    return innermost;
}

void explain_loops(const Kernel& before, const Kernel& after, Sentences& sentences) {
    const Innermost old = innermost_of(before), now = innermost_of(after);
    if (old.loops == now.loops && old.instructions == now.instructions && old.branches == now.branches) return;
    sentences.push_back(fmt::format("innermost loops: {} with {} instructions ({}) and {} branches",
                                    moved(old.loops, now.loops), moved(old.instructions, now.instructions),
                                    old.sizes == now.sizes ? now.sizes : old.sizes + " -> " + now.sizes,
                                    moved(old.branches, now.branches)));
}

// Where the kernel spills that is worse, its heaviest lines.
void explain_places(const Kernel& before, const Kernel& after, Sentences& sentences) {
    const bool grew = bytes_of(after.spills) >= bytes_of(before.spills);
    const Kernel& kernel = grew ? after : before;
    const std::vector<HotSpot> spots = hot_spots(kernel);
    for (size_t i = 0; i < std::min(kListedPlaces, spots.size()); ++i) {
        const HotSpot& spot = spots[i];
        std::string where = visible(place_of(spot));
        if (spot.loop_depth >= 0) where += fmt::format(", loop depth {}", spot.loop_depth);
        const std::string roles = roles_of(spot, kernel);
        if (!roles.empty()) where += ", " + roles;
        if (!spot.inlined.empty()) where += ", " + visible(spot.inlined);
        sentences.push_back(
            fmt::format("{} {} B at {}", grew ? "spills" : "spilled before:", bytes_text(spot.spills), where));
    }
    if (spots.size() > kListedPlaces) {
        sentences.push_back(fmt::format("and at {} more places", spots.size() - kListedPlaces));
    }
}

void explain_spills(const Kernel& before, const Kernel& after, Sentences& sentences) {
    if (before.spills == after.spills && before.spills_weighted == after.spills_weighted) return;
    sentences.push_back(fmt::format(
        "spills {} -> {} B in {} -> {} instructions; by loop depth {} -> {} B", bytes_text(before.spills),
        bytes_text(after.spills), before.spills.stores + before.spills.loads, after.spills.stores + after.spills.loads,
        bytes_text(before.spills_weighted), bytes_text(after.spills_weighted)));
    explain_places(before, after, sentences);
}

std::string budgets_of(const Kernel& kernel) {
    std::string text;
    for (const Role& role : kernel.roles) text += fmt::format("{}{}", text.empty() ? "" : "/", role.registers);
    return text;
}

void explain_resources(const Kernel& before, const Kernel& after, Sentences& sentences) {
    if (before.registers != after.registers) {
        sentences.push_back(fmt::format("registers {} -> {}", before.registers, after.registers));
    }
    const std::string old_budgets = budgets_of(before), new_budgets = budgets_of(after);
    if (old_budgets != new_budgets && (before.roles.size() > 1 || after.roles.size() > 1)) {
        sentences.push_back(fmt::format("register budgets by role {} -> {}", old_budgets, new_budgets));
    }
    if (before.stack_bytes != after.stack_bytes) {
        sentences.push_back(fmt::format("stack {} -> {} B (local arrays {}, spill slots {})", before.stack_bytes,
                                        after.stack_bytes, moved(before.array_bytes, after.array_bytes),
                                        moved(before.spill_frame_bytes, after.spill_frame_bytes)));
    }
    if (before.static_shared_bytes != after.static_shared_bytes) {
        sentences.push_back(
            fmt::format("static shared memory {} -> {} B", before.static_shared_bytes, after.static_shared_bytes));
    }
}

void explain_mix(const Kernel& before, const Kernel& after, Sentences& sentences) {
    std::vector<std::pair<int64_t, const Kind*>> grown;
    for (const Kind& kind : kKinds) {
        const int64_t old = before.mix.*kind.count, now = after.mix.*kind.count;
        if (std::abs(now - old) >= std::max(kFewInstructions, old / 20)) grown.emplace_back(std::abs(now - old), &kind);
    }
    std::stable_sort(grown.begin(), grown.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (grown.empty()) return;
    std::string text = fmt::format("instructions {}", moved(before.mix.total, after.mix.total));
    for (size_t i = 0; i < std::min(kListedKinds, grown.size()); ++i) {
        const Kind& kind = *grown[i].second;
        text += fmt::format("{}{} {} -> {}", i == 0 ? ": " : ", ", kind.name, before.mix.*kind.count,
                            after.mix.*kind.count);
    }
    sentences.push_back(std::move(text));
}

void explain_distance(std::string_view memory, const LoadDistance& before, const LoadDistance& after,
                      Sentences& sentences) {
    if (before.loads == 0 || after.loads == 0) return;
    if (before.median == after.median && before.under_8 == after.under_8) return;
    sentences.push_back(fmt::format(
        "{} loads stand {} instructions before their first use in the middle, {} of {} under 8 (shown, not judged)",
        memory, moved(before.median, after.median), moved(before.under_8, after.under_8),
        moved(before.loads, after.loads)));
}

// NVVM carries pairs of 32-bit values as one 64-bit value, which ptxas must keep in adjacent registers.
void explain_widths(const Kernel& before, const Kernel& after, Sentences& sentences) {
    if (before.ptx_text.empty() || after.ptx_text.empty() || before.ptx_text == after.ptx_text) return;
    auto old = widths_of(before.ptx_text, before.name);
    for (const auto& [word, now] : widths_of(after.ptx_text, after.name)) {
        const WidthCount was = old[word];
        if (now.of_64 < was.of_64 + kFewInstructions || now.of_32 >= was.of_32) continue;
        sentences.push_back(
            fmt::format("PTX has 64-bit pairs where it had scalars: {} of 64 bits {} -> {}, of 32 bits {} -> {}", word,
                        was.of_64, now.of_64, was.of_32, now.of_32));
    }
}

std::string percent(double part, double whole) {
    return whole == 0 ? "" : fmt::format(" ({:+.1f} %)", 100 * part / whole);
}

}  // namespace

std::string line_of(const KernelChange& change) {
    if (change.before == nullptr || change.after == nullptr) {
        const Kernel& kernel = *(change.before == nullptr ? change.after : change.before);
        return fmt::format("{} registers, spills {} B, {} instructions{}", kernel.registers, bytes_text(kernel.spills),
                           kernel.mix.total, is_serialised(kernel) ? ", wgmma serialised" : "");
    }
    const Kernel &before = *change.before, &after = *change.after;
    if (change.verdict == Verdict::kSame) return "same code";
    std::vector<std::string> parts;
    if (is_serialised(before) != is_serialised(after)) {
        parts.emplace_back(is_serialised(after) ? "wgmma serialised" : "wgmma no longer serialised");
    }
    const double old_loops = loop_weighted_instructions(before), new_loops = loop_weighted_instructions(after);
    if (old_loops != new_loops) {
        parts.push_back(fmt::format("instructions by loop depth {:.0f} -> {:.0f}{}", old_loops, new_loops,
                                    percent(new_loops - old_loops, old_loops)));
    }
    if (before.spills != after.spills) {
        parts.push_back(fmt::format("spills {} -> {} B", bytes_text(before.spills), bytes_text(after.spills)));
    } else if (before.spills_weighted != after.spills_weighted) {
        parts.push_back(fmt::format("spills by loop depth {} -> {} B", bytes_text(before.spills_weighted),
                                    bytes_text(after.spills_weighted)));
    }
    if (before.registers != after.registers) {
        parts.push_back(fmt::format("registers {} -> {}", before.registers, after.registers));
    }
    if (before.stack_bytes != after.stack_bytes) {
        parts.push_back(fmt::format("stack {} -> {} B", before.stack_bytes, after.stack_bytes));
    }
    if (parts.empty()) parts.emplace_back("other instructions, the same figures");
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> explanations_of(const KernelChange& change) {
    if (change.before == nullptr || change.after == nullptr) return {};
    const Kernel &before = *change.before, &after = *change.after;
    Sentences sentences;
    explain_serialisation(before, after, sentences);
    explain_loops(before, after, sentences);
    explain_spills(before, after, sentences);
    explain_resources(before, after, sentences);
    explain_mix(before, after, sentences);
    explain_distance("global", before.global_loads, after.global_loads, sentences);
    explain_distance("shared", before.shared_loads, after.shared_loads, sentences);
    explain_widths(before, after, sentences);
    return sentences;
}

}  // namespace jali::audit

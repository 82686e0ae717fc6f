#include "audit/match.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "audit/short_names.h"

namespace jali::audit {

namespace {

// Two kernels whose mixes differ by more are not one: about half of the instructions in every kind.
constexpr double kFarthest = 3.0;
// Shapes are compared pair by pair; more alike kernels than these are told apart by name or not at all.
constexpr size_t kMostPairs = 1 << 16;

using Kernels = std::vector<const Kernel*>;

std::set<std::string> archs_of(const Audit& audit) {
    std::set<std::string> archs;
    for (const Kernel& kernel : audit.kernels) archs.insert(kernel.arch);
    return archs;
}

// What the places of the same kernel in two folders have in common: the file's name and what follows it.
std::string_view end_of(std::string_view origin) {
    const size_t file_end = std::min(origin.find('!'), origin.size());
    const size_t slash = origin.substr(0, file_end).find_last_of('/');
    return slash == std::string_view::npos ? origin : origin.substr(slash + 1);
}

double distance(const Kernel& a, const Kernel& b) {
    const auto apart = [](int64_t x, int64_t y) {
        return std::abs(std::log((static_cast<double>(x) + 4) / (static_cast<double>(y) + 4)));
    };
    const InstructionMix &m = a.mix, &n = b.mix;
    return apart(m.matrix, n.matrix) + apart(m.async_copies, n.async_copies) + apart(m.special, n.special) +
           apart(m.shared, n.shared) + apart(m.global, n.global) + apart(m.barriers, n.barriers) +
           apart(m.floats, n.floats) + apart(m.total, n.total) / 2;
}

class Matcher {
   public:
    Matcher(const Audit& before, const Audit& after) {
        const std::set<std::string> left = archs_of(before), right = archs_of(after);
        archs_differ_ = left.size() == 1 && right.size() == 1 && left != right;
        for (const Kernel& kernel : before.kernels) before_.push_back(&kernel);
        for (const Kernel& kernel : after.kernels) after_.push_back(&kernel);
    }

    std::vector<Match> matched() {
        by_name();
        by_name_without_hashes();
        by_shape();
        for (const Kernel* kernel : before_) matches_.push_back({kernel, nullptr, ""});
        for (const Kernel* kernel : after_) matches_.push_back({nullptr, kernel, ""});
        return std::move(matches_);
    }

   private:
    template <typename Key>
    using Groups = std::map<Key, std::pair<Kernels, Kernels>>;

    // Both sides' unmatched kernels by what `key_of` says.
    template <typename KeyOf>
    auto groups_by(const KeyOf& key_of) const {
        Groups<decltype(key_of(*before_.front()))> groups;
        for (const Kernel* kernel : before_) groups[key_of(*kernel)].first.push_back(kernel);
        for (const Kernel* kernel : after_) groups[key_of(*kernel)].second.push_back(kernel);
        return groups;
    }
    std::string arch_of(const Kernel& kernel) const { return archs_differ_ ? std::string() : kernel.arch; }

    void take(const Kernel* before, const Kernel* after, std::string_view by) {
        matches_.push_back({before, after, by});
        taken_.insert(before);
        taken_.insert(after);
    }
    void forget_taken() {
        for (Kernels* side : {&before_, &after_}) {
            side->erase(std::remove_if(side->begin(), side->end(), [&](const Kernel* k) { return taken_.contains(k); }),
                        side->end());
        }
    }

    // Where several share a name, those of the same code, then those of the same file, then in order.
    void pair_up(Kernels before, Kernels after, std::string_view by) {
        const auto pair_where = [&](const auto& same) {
            Kernels left;
            for (const Kernel* old : before) {
                const auto found =
                    std::find_if(after.begin(), after.end(), [&](const Kernel* kernel) { return same(*old, *kernel); });
                if (found == after.end()) {
                    left.push_back(old);
                } else {
                    take(old, *found, by);
                    after.erase(found);
                }
            }
            before = std::move(left);
        };
        if (before.size() * after.size() > 1 && before.size() * after.size() <= kMostPairs) {
            pair_where([](const Kernel& a, const Kernel& b) {
                return a.code_sha256 == b.code_sha256 && end_of(a.origin) == end_of(b.origin);
            });
            pair_where([](const Kernel& a, const Kernel& b) { return end_of(a.origin) == end_of(b.origin); });
            pair_where([](const Kernel& a, const Kernel& b) { return a.code_sha256 == b.code_sha256; });
        }
        for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) take(before[i], after[i], by);
    }

    void by_name() {
        const auto groups = groups_by([&](const Kernel& k) { return std::pair(arch_of(k), k.name); });
        for (const auto& [key, sides] : groups) pair_up(sides.first, sides.second, "name");
        forget_taken();
    }

    void by_name_without_hashes() {
        const auto groups = groups_by([&](const Kernel& k) { return std::pair(arch_of(k), without_hashes(k.name)); });
        for (const auto& [key, sides] : groups) {
            if (sides.first.size() == 1 && sides.second.size() == 1) {
                take(sides.first.front(), sides.second.front(), "name without hashes");
            }
        }
        forget_taken();
    }

    // The closest pairs first, within kernels of equal launch and roles.
    void by_shape() {
        const auto groups = groups_by([&](const Kernel& k) {
            std::vector<int64_t> budgets;
            for (const Role& role : k.roles) budgets.push_back(role.registers);
            if (budgets.size() < 2) budgets.clear();  // without setmaxnreg it is the register count, which may change
            return std::tuple(arch_of(k), k.threads_bound, k.static_shared_bytes, k.mix.matrix > 0, budgets.size());
        });
        for (const auto& [key, sides] : groups) {
            if (sides.first.size() * sides.second.size() > kMostPairs) continue;
            std::vector<std::tuple<double, const Kernel*, const Kernel*>> pairs;
            for (const Kernel* before : sides.first) {
                for (const Kernel* after : sides.second) {
                    const double apart = distance(*before, *after);
                    if (apart <= kFarthest) pairs.emplace_back(apart, before, after);
                }
            }
            std::stable_sort(pairs.begin(), pairs.end(),
                             [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
            for (const auto& [apart, before, after] : pairs) {
                if (!taken_.contains(before) && !taken_.contains(after)) take(before, after, "shape");
            }
        }
        forget_taken();
    }

    bool archs_differ_ = false;
    Kernels before_, after_;  // not yet matched
    std::set<const Kernel*> taken_;
    std::vector<Match> matches_;
};

}  // namespace

std::vector<Match> match(const Audit& before, const Audit& after) {
    return Matcher(before, after).matched();
}

}  // namespace jali::audit

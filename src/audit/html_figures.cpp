#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "audit/html_kernel.h"
#include "audit/short_names.h"
#include "jali/audit_compare.h"

namespace jali::audit {
namespace {

constexpr size_t kNameWidth = 56;

}  // namespace

std::vector<ShownKernel> shown_kernels(const Report& report, size_t most_details) {
    std::vector<ShownKernel> shown;
    for (const Kernel& kernel : report.audit.kernels) shown.push_back({&kernel, nullptr, "", ""});
    for (const Assembled& run : report.assembled)
        for (const Kernel& kernel : run.kernels) shown.push_back({&kernel, &run, "", ""});
    const std::vector<std::string> names = short_names(kernels_of(report), kNameWidth);

    using Badness = std::tuple<bool, int64_t, double>;
    std::vector<std::pair<Badness, size_t>> order;
    for (size_t i = 0; i < shown.size(); ++i) {
        const Kernel& kernel = *shown[i].kernel;
        shown[i].name = names[i];
        order.push_back({{kernel.serialisation != Serialisation::kNone, bytes_of(kernel.spills_weighted),
                          loop_weighted_instructions(kernel)},
                         i});
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<ShownKernel> worst_first;
    for (const auto& [badness, index] : order) {
        worst_first.push_back(std::move(shown[index]));
        if (worst_first.size() <= most_details) worst_first.back().anchor = fmt::format("k{}", worst_first.size());
    }
    return worst_first;
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

std::string pair_text(int64_t stores, int64_t loads) {
    return fmt::format("{}/{}", stores, loads);
}

double heat_of(int64_t value, int64_t largest) {
    if (value <= 0 || largest <= 0) return 0;
    return 0.15 + 0.85 * static_cast<double>(value) / static_cast<double>(largest);
}

Cell pair_cell(const Traffic& traffic, double heat, bool is_estimate) {
    return {.text = (is_estimate ? "~" : "") + pair_text(traffic.store_bytes, traffic.load_bytes),
            .sort_by = static_cast<double>(bytes_of(traffic)),
            .heat = heat,
            .title = {},
            .link = {}};
}

}  // namespace jali::audit

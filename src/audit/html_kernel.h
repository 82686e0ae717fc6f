// Parts of a report's page.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "audit/html_page.h"
#include "audit/kernel_text.h"
#include "audit/source_text.h"
#include "jali/audit_report.h"

namespace jali::audit {

// A kernel and what the page calls it.
struct ShownKernel {
    const Kernel* kernel = nullptr;
    const Assembled* run = nullptr;  // that it came out of; null where it was read
    std::string name;                // short
    std::string anchor;              // of its details: "k3"; empty where the page has none
};
// Every kernel of `audit` and `assembled`: serialised ones first, then by spill bytes weighted by depth, then by
// instructions weighted by depth; the first `most_details` have an anchor.
std::vector<ShownKernel> shown_kernels(const Report& report, size_t most_details);

// --- Sections ---

// Every kernel, a row each; hot where it spills. What all of them share is a sentence instead of a column.
void add_kernel_table(pugi::xml_node parent, const std::vector<ShownKernel>& kernels,
                      const std::vector<std::string>& device_names);
// All that is known of one kernel, folded up or open.
void add_kernel_details(pugi::xml_node parent, const ShownKernel& shown, bool is_open, SourceFiles& files);
// Where it spills: source and PTX lines, or bytes of code.
void add_spill_lines(pugi::xml_node parent, const Kernel& kernel, SourceFiles& files);
// PTX by assemblers and options as heat maps.
void add_matrix(pugi::xml_node parent, const std::vector<Assembled>& assembled);
// Of a comparison: every change in a table, the first ones with bars and explanations.
void add_changes(pugi::xml_node parent, const Report& report);
// Of a check: breaches, kernels and rules that do not meet.
void add_check(pugi::xml_node parent, const BudgetResult& result);

// --- Figures ---

std::string_view last_part(std::string_view path);
std::string pair_text(int64_t stores, int64_t loads);  // "28/16"
// In [0, 1]; what is small beside the largest is seen too.
double heat_of(int64_t value, int64_t largest);
Cell pair_cell(const Traffic& traffic, double heat, bool is_estimate = false);

}  // namespace jali::audit

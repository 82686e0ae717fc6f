// Parts of a report's page that speak of kernels.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <vector>

#include "audit/source_text.h"
#include "jali/audit_report.h"

namespace jali::audit {

// Every kernel, a row each; hot where it spills.
void add_kernel_table(pugi::xml_node parent, const std::vector<const Kernel*>& kernels,
                      const std::vector<std::string>& device_names);

// All that is known of one kernel, folded up; open where it spills and is among the first.
void add_kernel_details(pugi::xml_node parent, const Kernel& kernel, bool is_open, SourceFiles& files);

// PTX by assemblers and options as heat maps.
void add_matrix(pugi::xml_node parent, const std::vector<Assembled>& assembled);

}  // namespace jali::audit

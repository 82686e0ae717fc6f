// A kernel as JSON; docs/audit.md has the schema.
#pragma once

#include <nlohmann/json.hpp>

#include "jali/audit.h"

namespace jali::audit {

using Json = nlohmann::ordered_json;

// `device_names` of those whose occupancy is told.
Json json_of(const Kernel& kernel, const std::vector<std::string>& device_names = {});
Json json_of(const Problem& problem);

}  // namespace jali::audit

// Names of kernels as a table can show them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jali/audit.h"

namespace jali::audit {

// The function without return type and parameters: "flash::kernel<128, true>".
std::string_view without_signature(std::string_view demangled);
// Without hashes and numbers: what stays when a generator names the same kernel again.
std::string without_hashes(std::string_view name);

// A name for each kernel, of at most about `characters`, in visible text. Template arguments are left out where the
// name without them is unique; where several kernels share it, what differs among them stays.
std::vector<std::string> short_names(std::span<const Kernel* const> kernels, size_t characters);

}  // namespace jali::audit

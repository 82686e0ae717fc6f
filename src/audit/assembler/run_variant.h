// One run of an assembler, without the cache and without reading what comes out.
#pragma once

#include <string>

#include "audit/assembler/cache.h"
#include "audit/assembler/command_line.h"

namespace jali::audit {

struct Made {
    std::string message;  // the assembler's words where it failed, or why it was stopped; empty: it worked
    CachedAssembly assembly;
};
// `timeout_seconds` is for each of the variant's commands. Throws Error where a program cannot be started, and
// FileError where there is no room for temporary files.
Made run_variant(const std::string& ptx, const Variant& variant, double timeout_seconds);

}  // namespace jali::audit

// The command lines of ptxas and nvlink.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "jali/audit_assemble.h"

namespace jali::audit {

// An option string as the assembler takes it: split as a shell does (quotes, backslashes; nothing is expanded), files
// that options name made absolute. Throws Error for options that say what the caller says elsewhere or that would
// change what comes out: the output, the architecture, the route.
std::vector<std::string> split_options(std::string_view options);
// The files that the split options read: their contents decide the result as well.
std::vector<std::filesystem::path> files_of_options(const std::vector<std::string>& options);

// In the folder that the assembly runs in.
inline constexpr std::string_view kPtxName = "kernel.ptx";
inline constexpr std::string_view kObjectName = "kernel.o";
inline constexpr std::string_view kCubinName = "kernel.cubin";

struct Variant {
    Assembler assembler;
    std::vector<std::string> options;  // split
    std::string arch;
    Route route = Route::kDirect;
    bool line_tables = true;
};
// One command for the direct route, two for the linked one.
std::vector<std::vector<std::string>> commands(const Variant& variant);

}  // namespace jali::audit

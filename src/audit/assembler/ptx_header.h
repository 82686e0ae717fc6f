// The directives at the start of PTX that decide which assembler takes it, and their exchange for others.
#pragma once

#include <string>
#include <string_view>

namespace jali::audit {

struct PtxHeader {
    std::string version;  // of .version: "9.0"; empty where there is none
    std::string target;   // the architecture of .target: "sm_100a"; empty where there is none
};
PtxHeader read_ptx_header(std::string_view ptx);

// The same text with another .version or another architecture in .target, line for line. A text without the directive
// stays as it is.
std::string with_ptx_version(std::string_view ptx, std::string_view version);
std::string with_ptx_target(std::string_view ptx, std::string_view target);

// Whether an assembler takes PTX of `target` for `arch`: one of a numbered family goes to that and later ones, "sm_90a"
// to itself alone, "sm_100f" to its own ten. Unknown names are left to the assembler: true.
bool can_target(std::string_view target, std::string_view arch);

// The lines of the directives moved where they must be, so that `assembler_ptx_version` and `arch` take the text.
struct PreparedPtx {
    std::string text;
    std::string arch;             // that it is assembled for
    std::string lowered_from;     // its own .version, where it was lowered
    std::string retargeted_from;  // its own .target, where it was replaced
};
// `arch` empty: the PTX's own. `assembler_ptx_version` empty: not known, so the version stays.
PreparedPtx prepare_ptx(std::string_view ptx, std::string_view arch, std::string_view assembler_ptx_version);

}  // namespace jali::audit

// Any text is a budget or a FileError, and what it says is written and read again as the same; and any text goes
// through what reads PTX and the assembler's words.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "audit/assembler/ptx_header.h"
#include "audit/assembler/ptxas_log.h"
#include "audit/ptx_widths.h"
#include "audit/visible_text.h"
#include "jali/audit_budget.h"
#include "jali/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace jali::audit;
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        const Budget budget = parse_budget(text, "fuzz.toml");
        const std::string written = budget_text(budget);
        const Budget again = parse_budget(written, "written.toml");
        if (again.ratchet != budget.ratchet || again.rules.size() != budget.rules.size()) std::abort();
        if (budget_text(again) != written) std::abort();
    } catch (const jali::FileError&) {
    }
    const PreparedPtx prepared = prepare_ptx(text, "sm_100a", "8.7");
    if (prepared.text.size() + 64 < text.size()) std::abort();
    parse_ptxas_log(text);
    widths_of(text, "kernel");
    const std::string shown = visible(text);
    if (visible(shown) != shown) std::abort();
    if (characters_of(shortened(shown, 20)) > 20) std::abort();
    return 0;
}

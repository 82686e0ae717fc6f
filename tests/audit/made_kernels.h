// Kernels made by hand, as reading would give them.
#pragma once

#include <string>

#include "jali/audit.h"

namespace jali::audit::test {

// A kernel of sm_90a by ptxas 13.0.88 with 128 registers and 1,000 instructions, 400 of them in one loop; no spills.
Kernel made_kernel(const std::string& name);

struct Spill {
    bool is_store = true;
    int64_t bytes = 4, loop_depth = 1, ptx_line = 0;
    std::string file;
    int64_t line = 0, role = -1;
};
// Adds a site and counts it in the kernel's totals, its frame and its code hash.
void add_spill(Kernel& kernel, const Spill& spill);
// `stores` stores and `loads` loads of 4 bytes in the loop.
void add_spills(Kernel& kernel, int64_t stores, int64_t loads);

// Makes the code another, as every real change of it does.
void change_code(Kernel& kernel, const std::string& how);

}  // namespace jali::audit::test

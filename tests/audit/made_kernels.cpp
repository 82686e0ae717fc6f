#include "audit/made_kernels.h"

#include <algorithm>

namespace jali::audit::test {

Kernel made_kernel(const std::string& name) {
    Kernel kernel;
    kernel.name = name;
    kernel.demangled = name;
    kernel.origin = "made.cubin";
    kernel.arch = "sm_90a";
    kernel.assembler = "ptxas 13.0.88";
    kernel.options = "-O3";
    kernel.registers = 128;
    kernel.threads_bound = 384;
    kernel.code_bytes = 16000;
    kernel.code_sha256 = "code of " + name;
    kernel.mix.total = 1000;
    kernel.mix.matrix = 16;
    kernel.mix.floats = 300;
    kernel.loops = {{.begin = 3200, .end = 9600, .depth = 1, .innermost = true, .instructions = 400, .branches = 4}};
    kernel.roles = {{.registers = 128, .begin = 0, .instructions = 1000}};
    return kernel;
}

void add_spill(Kernel& kernel, const Spill& spill) {
    SpillSite site;
    site.offset = 3200 + 16 * static_cast<int64_t>(kernel.spill_sites.size());
    site.is_store = spill.is_store;
    site.bytes = spill.bytes;
    site.loop_depth = spill.loop_depth;
    site.ptx_line = spill.ptx_line;
    site.role = spill.role;
    if (!spill.file.empty()) site.source.push_back({spill.file, spill.line, "body"});
    int64_t weight = 1;
    for (int64_t depth = 0; depth < std::min<int64_t>(spill.loop_depth, 4); ++depth) weight *= 10;
    for (auto& [traffic, times] : {std::pair<Traffic&, int64_t>{kernel.spills, 1}, {kernel.spills_weighted, weight}}) {
        (spill.is_store ? traffic.stores : traffic.loads) += times;
        (spill.is_store ? traffic.store_bytes : traffic.load_bytes) += times * spill.bytes;
    }
    if (spill.is_store) {
        kernel.stack_bytes += spill.bytes;
        kernel.spill_frame_bytes += spill.bytes;
    }
    kernel.spill_sites.push_back(std::move(site));
    change_code(kernel, "spill");
}

void add_spills(Kernel& kernel, int64_t stores, int64_t loads) {
    for (int64_t i = 0; i < stores; ++i) add_spill(kernel, {.is_store = true});
    for (int64_t i = 0; i < loads; ++i) add_spill(kernel, {.is_store = false});
}

void change_code(Kernel& kernel, const std::string& how) {
    kernel.code_sha256 += ", " + how;
}

}  // namespace jali::audit::test

// Any bytes are a cubin or a FileError: its kernels, with their code, loops, roles, lines and spills, agree with
// themselves, and reports of them are made.
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>

#include "audit/cubin_kernels.h"
#include "jali/audit_compare.h"
#include "jali/audit_report.h"
#include "jali/error.h"

namespace {

using namespace jali::audit;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_sites(const Kernel& kernel) {
    Traffic local, shared;
    int64_t last = -1;
    for (const SpillSite& site : kernel.spill_sites) {
        require(site.offset > last && site.bytes >= 0);
        last = site.offset;
        Traffic& traffic = site.in_shared_memory ? shared : local;
        (site.is_store ? traffic.stores : traffic.loads) += 1;
        (site.is_store ? traffic.store_bytes : traffic.load_bytes) += site.bytes;
        require(site.role >= -1 && site.role < std::ssize(kernel.roles));
        require(site.loop_depth >= -1);
    }
    require(local == kernel.spills && shared == kernel.shared_spills);
}

void check_mix(const Kernel& kernel) {
    const InstructionMix& mix = kernel.mix;
    const int64_t sum = mix.matrix + mix.async_copies + mix.special + mix.shared + mix.global + mix.local +
                        mix.constant + mix.tensor_memory + mix.barriers + mix.branches + mix.moves + mix.conversions +
                        mix.floats + mix.integers + mix.predicates + mix.logic + mix.others + mix.unknown;
    require(mix.total == sum && mix.total == kernel.code_bytes / 16);
}

void check(const Kernel& kernel) {
    check_sites(kernel);
    check_mix(kernel);
    require(kernel.array_bytes + kernel.spill_frame_bytes == kernel.stack_bytes);
    for (const Loop& loop : kernel.loops) {
        require(loop.begin >= 0 && loop.begin < loop.end && loop.end <= kernel.code_bytes);
        require(loop.depth >= 1 && loop.instructions >= 1 && loop.branches >= 0);
    }
    require(!kernel.roles.empty());
    for (const LoadDistance& distance : {kernel.global_loads, kernel.shared_loads})
        require(distance.under_8 <= distance.loads && distance.median >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        CubinKernels found = read_kernels({data, size}, "fuzz", {.keep_ptx_text = true, .progress = {}});
        for (const Kernel& kernel : found.kernels) check(kernel);
        // Reports take nine tenths of the time: they are made of an eighth of the inputs.
        if (std::accumulate(data, data + size, uint32_t{0}) % 8 != 0) return 0;
        Report report;
        report.audit.kernels = std::move(found.kernels);
        for (std::string& problem : found.problems) report.audit.problems.push_back({"fuzz", std::move(problem)});
        report.kind = ReportKind::kDiff;
        report.before = report.audit;
        report.changes = compare(report.before, report.audit);
        report.device_names = {"H200"};
        require(!json_report(report).empty() && !junit_report(report).empty() && !html_report(report).empty());
    } catch (const jali::FileError&) {
    }
    return 0;
}

#include "audit/kernel_json.h"
#include "jali/audit_report.h"

namespace jali::audit {

namespace {

constexpr int kSchema = 1;

// What `ptxas -v` said; null where it said nothing.
Json json_of(const ReportedKernel& kernel) {
    const auto known = [](int64_t value) { return value < 0 ? Json(nullptr) : Json(value); };
    return {{"name", kernel.name},
            {"registers", known(kernel.registers)},
            {"stack_bytes", known(kernel.stack_bytes)},
            {"spill_store_bytes", known(kernel.spill_store_bytes)},
            {"spill_load_bytes", known(kernel.spill_load_bytes)},
            {"barriers", known(kernel.barriers)},
            {"notes", kernel.notes}};
}

// Its kernels stand in the list of all, from `first_kernel` on.
Json json_of(const Assembled& run, size_t first_kernel) {
    Json json = {{"ptx", run.ptx},
                 {"assembler", run.assembler},
                 {"options", run.options},
                 {"arch", run.arch},
                 {"route", name_of(run.route)},
                 {"succeeded", run.succeeded},
                 {"from_cache", run.from_cache},
                 {"lowered_from", run.lowered_from.empty() ? Json(nullptr) : Json(run.lowered_from)},
                 {"message", run.message},
                 {"milliseconds", run.milliseconds},
                 {"first_kernel", first_kernel},
                 {"kernel_count", run.kernels.size()},
                 {"reported", Json::array()}};
    for (const ReportedKernel& kernel : run.reported) json["reported"].push_back(json_of(kernel));
    return json;
}

Json json_of(const KernelChange& change) {
    const Kernel& named = *(change.after == nullptr ? change.before : change.after);
    const auto side = [](const Kernel* kernel) { return kernel == nullptr ? Json(nullptr) : audit::json_of(*kernel); };
    return {{"name", named.name},
            {"demangled", named.demangled},
            {"arch", named.arch},
            {"verdict", name_of(change.verdict)},
            {"matched_by", change.matched_by},
            {"harm", change.harm.total()},
            {"harm_of",
             {{"serialisation", change.harm.serialisation},
              {"loop_instructions", change.harm.loop_instructions},
              {"spills", change.harm.spills}}},
            {"line", change.line},
            {"explanations", change.explanations},
            {"before", side(change.before)},
            {"after", side(change.after)}};
}

Json json_of(const BudgetBreach& breach) {
    return {{"name", breach.kernel->name},
            {"arch", breach.kernel->arch},
            {"assembler", breach.kernel->assembler},
            {"origin", breach.kernel->origin},
            {"figure", breach.figure},
            {"value", breach.value},
            {"allowed", breach.allowed},
            {"by", breach.rule == nullptr ? "ratchet" : "rule"},
            {"rule", breach.rule == nullptr ? Json(nullptr) : Json(breach.rule->kernel)},
            {"rule_line", breach.rule == nullptr ? Json(nullptr) : Json(breach.rule->line)}};
}

Json json_of(const BudgetResult& result) {
    Json json = {{"passed", result.breaches.empty()},
                 {"breaches", Json::array()},
                 {"uncovered", Json::array()},
                 {"idle_rules", Json::array()},
                 {"missing", Json::array()}};
    for (const BudgetBreach& breach : result.breaches) json["breaches"].push_back(json_of(breach));
    for (const Kernel* kernel : result.uncovered) {
        json["uncovered"].push_back({{"name", kernel->name},
                                     {"arch", kernel->arch},
                                     {"assembler", kernel->assembler},
                                     {"origin", kernel->origin}});
    }
    for (const BudgetRule* rule : result.idle) {
        json["idle_rules"].push_back({{"rule", rule->kernel}, {"rule_line", rule->line}});
    }
    for (const RatchetEntry* entry : result.missing) {
        json["missing"].push_back({{"name", entry->kernel}, {"arch", entry->arch}, {"assembler", entry->assembler}});
    }
    return json;
}

}  // namespace

std::string json_report(const Report& report) {
    Json json = {{"schema", kSchema}, {"jali", JALI_VERSION}, {"kernels", Json::array()}, {"problems", Json::array()}};
    for (const Kernel* kernel : kernels_of(report)) {
        json["kernels"].push_back(audit::json_of(*kernel, report.device_names));
    }
    for (const Problem& problem : problems_of(report)) json["problems"].push_back(audit::json_of(problem));
    json["ptx_images"] = report.audit.ptx_images;
    if (!report.assembled.empty()) {
        json["assembled"] = Json::array();
        size_t first_kernel = report.audit.kernels.size();
        for (const Assembled& run : report.assembled) {
            json["assembled"].push_back(json_of(run, first_kernel));
            first_kernel += run.kernels.size();
        }
    }
    if (report.kind == ReportKind::kDiff) {
        json["worse"] = any_worse(report.changes);
        json["changes"] = Json::array();
        for (const KernelChange& change : report.changes) json["changes"].push_back(json_of(change));
    }
    if (report.kind == ReportKind::kCheck) json["check"] = json_of(report.result);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace jali::audit

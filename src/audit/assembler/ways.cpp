#include "audit/assembler/ways.h"

#include <algorithm>

#include "audit/assembler/version.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

// The wheels of CUDA 12 carry no nvlink, and a newer one links what an older ptxas made.
void borrow_nvlink(Way& way, const std::vector<Assembler>& found) {
    Assembler& assembler = way.variant.assembler;
    if (!assembler.nvlink.empty()) return;
    for (const Assembler& other : found) {  // newest first
        if (other.nvlink.empty() || is_older(other.version, assembler.version)) continue;
        assembler.nvlink = other.nvlink;
        assembler.sha256 += other.sha256;  // results are known by both
        way.remark = "linked by nvlink " + other.version + ": there is none beside ptxas " + assembler.version;
        return;
    }
    way.failure = "there is no nvlink beside '" + assembler.ptxas.string() + "', nor a newer one";
}

// What an assembler given by version alone is; its rows say why where it is not.
Way resolved(const Assembler& given) {
    Way way;
    way.variant.assembler = given;
    if (!given.ptxas.empty()) return way;
    try {
        way.variant.assembler = find_assembler(given.version);
    } catch (const Error& error) {
        way.failure = error.what();
    }
    return way;
}

}  // namespace

std::vector<Way> ways_of(const AssembleOptions& options) {
    std::vector<std::vector<std::string>> words;  // all before any assembler runs: a wrong one is said at once
    for (const std::string& text : options.options) words.push_back(split_options(text));
    const bool links = std::ranges::find(options.routes, Route::kLinked) != options.routes.end();
    std::vector<Assembler> found;
    if (options.assemblers.empty() || links) found = find_assemblers();
    std::vector<Assembler> assemblers = options.assemblers;
    if (assemblers.empty()) {
        if (found.empty()) throw Error("there is no ptxas here; `jali toolchain install 13` fetches one");
        assemblers = {found[0]};
    }
    const std::vector<std::string> archs = options.archs.empty() ? std::vector<std::string>{""} : options.archs;

    std::vector<Way> ways;
    for (const Assembler& assembler : assemblers) {
        const Way base = resolved(assembler);
        for (size_t i = 0; i < words.size(); ++i) {
            for (const std::string& arch : archs) {
                for (const Route route : options.routes) {
                    Way& way = ways.emplace_back(base);
                    way.options = options.options[i];
                    way.variant.options = words[i];
                    way.variant.arch = arch;
                    way.variant.route = route;
                    way.variant.line_tables = options.line_tables;
                    if (route == Route::kLinked && way.failure.empty()) borrow_nvlink(way, found);
                }
            }
        }
    }
    return ways;
}

}  // namespace jali::audit

#include "audit/assembler/run_variant.h"

#include <cmath>
#include <fstream>
#include <iterator>

#include "audit/assembler/process.h"
#include "audit/assembler/ptxas_log.h"
#include "audit/assembler/temporary_folder.h"
#include "io/atomic_file.h"

namespace jali::audit {

namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> read_bytes(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string without_trailing_space(std::string text) {
    text.erase(text.find_last_not_of(" \n\r\t") + 1);
    return text;
}

// PTX for another architecture is wrong in hundreds of lines: the first of them and the last, which says the outcome.
std::string shortened(const std::vector<std::string>& complaints) {
    constexpr size_t kFirst = 5;
    constexpr size_t kLongestBytes = 4000;
    std::string words;
    for (size_t i = 0; i < complaints.size(); ++i) {
        if (!words.empty()) words += "\n";
        if (i == kFirst && complaints.size() > kFirst + 2) {
            i = complaints.size() - 1;
            words += "(and " + std::to_string(i - kFirst) + " more)\n";
        }
        words += complaints[i];
    }
    if (words.size() <= kLongestBytes) return words;
    return words.substr(0, kLongestBytes) + " (and " + std::to_string(words.size() - kLongestBytes) + " bytes more)";
}

// Why a command failed, in the assembler's words where it has any.
std::string failure(const ProcessResult& result, const std::string& program, double timeout_seconds) {
    const std::string name = fs::path(program).filename();
    if (result.timed_out) {
        return name + " was stopped after " + std::to_string(std::lround(timeout_seconds)) + " seconds";
    }
    std::string words = shortened(parse_ptxas_log(result.output).complaints);
    if (words.empty()) words = shortened({without_trailing_space(result.output)});
    if (result.signal != 0) {
        words = name + " was ended by signal " + std::to_string(result.signal) + (words.empty() ? "" : "\n" + words);
    }
    return words.empty() ? name + " failed with status " + std::to_string(result.exit_code) + " and no word" : words;
}

}  // namespace

Made run_variant(const std::string& ptx, const Variant& variant, double timeout_seconds) {
    const TemporaryFolder folder;
    io::write_file(folder.path() / kPtxName, ptx);
    Made made;
    for (const std::vector<std::string>& command : commands(variant)) {
        const ProcessResult result = run_process({command, folder.path(), {}, timeout_seconds, {}});
        made.assembly.milliseconds += result.milliseconds;
        if (!result.succeeded()) {
            made.message = failure(result, command[0], timeout_seconds);
            return made;
        }
        made.assembly.log += result.output;
    }
    made.assembly.cubin = read_bytes(folder.path() / kCubinName);
    if (made.assembly.cubin.empty()) made.message = "the assembler said that it worked and wrote nothing";
    return made;
}

}  // namespace jali::audit

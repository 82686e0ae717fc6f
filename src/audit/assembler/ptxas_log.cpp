#include "audit/assembler/ptxas_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

namespace jali::audit {

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
    return text;
}

// The text between the first `before` and the next `after`.
std::optional<std::string_view> between(std::string_view text, std::string_view before, std::string_view after) {
    const size_t begin = text.find(before);
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin + before.size());
    const size_t end = text.find(after);
    if (end == std::string_view::npos) return std::nullopt;
    return text.substr(0, end);
}

// The number that stands before `words`: 28 of "28 bytes spill stores".
int64_t number_before(std::string_view line, std::string_view words) {
    const size_t end = line.find(words);
    if (end == std::string_view::npos) return -1;
    size_t begin = end;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
    int64_t number = -1;
    std::from_chars(line.data() + begin, line.data() + end, number);
    return number;
}

struct Line {
    std::string_view severity;  // "info", "warning", "error", "fatal"; empty for continuations
    std::string_view text;
};

// "ptxas info    : Used 8 registers" or "ptxas k.ptx, line 1; fatal   : Unsupported ..." or "nvlink error   : ..."
Line split(std::string_view line) {
    constexpr std::array<std::string_view, 4> kSeverities = {"info", "warning", "error", "fatal"};
    if (!line.starts_with("ptxas ") && !line.starts_with("nvlink ")) return {{}, line};
    const size_t colon = line.find(" :");
    if (colon == std::string_view::npos) return {{}, line};
    const std::string_view head = trimmed(line.substr(0, colon));
    for (const std::string_view severity : kSeverities) {
        if (head.ends_with(severity)) return {severity, trimmed(line.substr(colon + 2))};
    }
    return {{}, line};
}

// "C7510: words" of "(C7510) words".
std::optional<std::string> note_of(std::string_view text) {
    if (!text.starts_with("(C")) return std::nullopt;
    const size_t end = text.find(')');
    if (end == std::string_view::npos || end > 8) return std::nullopt;
    return std::string(text.substr(1, end - 1)) + ": " + std::string(trimmed(text.substr(end + 1)));
}

class Parser {
   public:
    void take(std::string_view line) {
        const auto [severity, text] = split(line);
        if (severity == "info") {
            take_info(text);
        } else if (!severity.empty()) {
            log_.complaints.emplace_back(trimmed(line));
        } else if (current_ != nullptr && text.find("bytes stack frame") != std::string_view::npos) {
            current_->stack_bytes = number_before(text, " bytes stack frame");
            current_->spill_store_bytes = number_before(text, " bytes spill stores");
            current_->spill_load_bytes = number_before(text, " bytes spill loads");
        }
        if (const auto note = note_of(text)) take_note(*note);
    }
    PtxasLog finish() {
        // Some notes name no function, and come before all: of one kernel alone they can only mean that.
        if (log_.kernels.size() == 1) {
            std::vector<std::string>& notes = log_.kernels[0].notes;
            notes.insert(notes.begin(), log_.notes.begin(), log_.notes.end());
            log_.notes.clear();
        }
        return std::move(log_);
    }

   private:
    ReportedKernel& kernel(std::string_view name) {
        const auto found = std::ranges::find(log_.kernels, name, &ReportedKernel::name);
        if (found != log_.kernels.end()) return *found;
        log_.kernels.emplace_back().name = name;
        return log_.kernels.back();
    }
    void take_info(std::string_view text) {
        if (const auto entry = between(text, "Compiling entry function '", "'")) {
            entry_ = *entry;
            current_ = &kernel(entry_);
        } else if (text.starts_with("Function properties for ")) {
            // Device functions have properties too, and are no kernels.
            const std::string_view name = trimmed(text.substr(text.find("for ") + 4));
            current_ = name == entry_ ? &kernel(entry_) : nullptr;
        } else if (text.starts_with("Used ") && !entry_.empty()) {
            ReportedKernel& used = kernel(entry_);
            used.registers = number_before(text, " registers");
            used.barriers = number_before(text, " barriers");
        }
    }
    void take_note(const std::string& note) {
        if (const auto name = between(note, "function '", "'")) {
            kernel(*name).notes.push_back(note);
            current_ = nullptr;  // kernels may have moved
        } else {
            log_.notes.push_back(note);
        }
    }

    PtxasLog log_;
    std::string entry_;
    ReportedKernel* current_ = nullptr;
};

}  // namespace

PtxasLog parse_ptxas_log(std::string_view log) {
    Parser parser;
    while (!log.empty()) {
        const std::string_view line = log.substr(0, log.find('\n'));
        parser.take(line);
        log.remove_prefix(std::min(log.size(), line.size() + 1));
    }
    return parser.finish();
}

bool says_serialised(std::string_view note) {
    constexpr std::array<std::string_view, 6> kNumbers = {"C7510", "C7511", "C7512", "C7513", "C7514", "C7515"};
    return std::ranges::any_of(kNumbers, [&](std::string_view number) { return note.starts_with(number); }) ||
           (note.find("wgmma") != std::string_view::npos && note.find("serialized") != std::string_view::npos);
}

void apply_log(const PtxasLog& log, std::vector<Kernel>& kernels) {
    for (Kernel& kernel : kernels) {
        const auto reported = std::ranges::find(log.kernels, kernel.name, &ReportedKernel::name);
        if (reported == log.kernels.end()) continue;
        kernel.notes = reported->notes;
        // Who assembled it knows better than who looks at its code.
        const bool is_serialised = std::ranges::any_of(kernel.notes, says_serialised);
        kernel.serialisation = is_serialised ? Serialisation::kNoted : Serialisation::kNone;
    }
}

}  // namespace jali::audit

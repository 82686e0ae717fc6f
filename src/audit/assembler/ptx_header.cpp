#include "audit/assembler/ptx_header.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "audit/assembler/version.h"

namespace jali::audit {

namespace {

struct Word {
    size_t begin = 0, size = 0;
};

bool is_space(char character) {
    return std::isspace(static_cast<unsigned char>(character)) != 0;
}

// The next word at or after `at`, past spaces and comments; a comma and a newline end it.
std::optional<Word> next_word(std::string_view text, size_t at) {
    while (at < text.size()) {
        if (is_space(text[at])) {
            ++at;
        } else if (text.substr(at).starts_with("//")) {
            at = std::min(text.find('\n', at), text.size());
        } else if (text.substr(at).starts_with("/*")) {
            const size_t end = text.find("*/", at + 2);
            at = end == std::string_view::npos ? text.size() : end + 2;
        } else {
            size_t end = at;
            while (end < text.size() && !is_space(text[end]) && text[end] != ',' && text[end] != '/') ++end;
            return Word{at, std::max<size_t>(end - at, 1)};
        }
    }
    return std::nullopt;
}

// The word after a directive of the header, which begins every PTX: nothing but directives and comments comes before.
std::optional<Word> argument_of(std::string_view ptx, std::string_view directive) {
    size_t at = 0;
    // .version, .target with its options and .address_size take a dozen words; beyond those is no header.
    for (int words = 0; words < 32; ++words) {
        const std::optional<Word> word = next_word(ptx, at);
        if (!word) return std::nullopt;
        at = word->begin + word->size;
        if (ptx.substr(word->begin, word->size) == directive) return next_word(ptx, at);
    }
    return std::nullopt;
}

std::string replaced(std::string_view ptx, std::string_view directive, std::string_view argument) {
    std::string text(ptx);
    if (const std::optional<Word> word = argument_of(ptx, directive)) text.replace(word->begin, word->size, argument);
    return text;
}

struct Architecture {
    int number = 0;
    char suffix = ' ';  // 'a', 'f'
};

std::optional<Architecture> parse(std::string_view name) {
    if (!name.starts_with("sm_")) return std::nullopt;
    name.remove_prefix(3);
    Architecture architecture;
    if (!name.empty() && std::isalpha(static_cast<unsigned char>(name.back())) != 0) {
        architecture.suffix = name.back();
        name.remove_suffix(1);
    }
    if (name.empty() || name.size() > 4) return std::nullopt;
    for (const char digit : name) {
        if (digit < '0' || digit > '9') return std::nullopt;
        architecture.number = architecture.number * 10 + (digit - '0');
    }
    return architecture;
}

}  // namespace

PtxHeader read_ptx_header(std::string_view ptx) {
    PtxHeader header;
    const auto version = argument_of(ptx, ".version");
    const auto target = argument_of(ptx, ".target");
    if (version) header.version = ptx.substr(version->begin, version->size);
    if (target) header.target = ptx.substr(target->begin, target->size);
    return header;
}

std::string with_ptx_version(std::string_view ptx, std::string_view version) {
    return replaced(ptx, ".version", version);
}

std::string with_ptx_target(std::string_view ptx, std::string_view target) {
    return replaced(ptx, ".target", target);
}

bool can_target(std::string_view target, std::string_view arch) {
    const std::optional<Architecture> from = parse(target);
    const std::optional<Architecture> to = parse(arch);
    if (!from || !to) return true;
    if (from->suffix == 'a') return to->suffix == 'a' && from->number == to->number;
    if (from->suffix == 'f') {
        return to->suffix != ' ' && from->number / 10 == to->number / 10 && from->number <= to->number;
    }
    return from->number <= to->number;
}

PreparedPtx prepare_ptx(std::string_view ptx, std::string_view arch, std::string_view assembler_ptx_version) {
    const PtxHeader header = read_ptx_header(ptx);
    PreparedPtx prepared;
    prepared.text = ptx;
    prepared.arch = arch.empty() ? header.target : arch;
    if (is_version(header.version) && is_version(assembler_ptx_version) &&
        is_older(assembler_ptx_version, header.version)) {
        prepared.lowered_from = header.version;
        prepared.text = with_ptx_version(prepared.text, assembler_ptx_version);
    }
    if (!header.target.empty() && !can_target(header.target, prepared.arch)) {
        prepared.retargeted_from = header.target;
        prepared.text = with_ptx_target(prepared.text, prepared.arch);
    }
    return prepared;
}

}  // namespace jali::audit

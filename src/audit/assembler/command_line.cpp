#include "audit/assembler/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "jali/error.h"

namespace jali::audit {

namespace {

struct Refusal {
    std::string_view option;
    std::string_view instead;
};
constexpr std::array kRefused = {
    Refusal{"-o", "jali keeps the output"},
    Refusal{"--output-file", "jali keeps the output"},
    Refusal{"-arch", "say --arch"},
    Refusal{"--gpu-name", "say --arch"},
    Refusal{"-c", "say --route nvlink"},
    Refusal{"--compile-only", "say --route nvlink"},
    Refusal{"-h", "it does not assemble"},
    Refusal{"--help", "it does not assemble"},
    Refusal{"-V", "it does not assemble"},
    Refusal{"--version", "it does not assemble"},
    Refusal{"--query-controls", "it writes over its file"},
    Refusal{"--input-as-string", "jali gives the PTX"},
    Refusal{"-ias", "jali gives the PTX"},
};
constexpr std::array<std::string_view, 3> kReadFiles = {"--apply-controls", "--options-file", "-optf"};
constexpr std::array<std::string_view, 5> kLineTables = {"-lineinfo", "--generate-line-info", "-g", "--device-debug",
                                                         "-G"};

// "--name" of "--name=value".
std::string_view name_part(std::string_view option) {
    return option.substr(0, option.find('='));
}

bool reads_file(std::string_view name) {
    return std::ranges::find(kReadFiles, name) != kReadFiles.end();
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    std::optional<std::string> word;
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const char character = text[i];
        if (quote == 0 && std::isspace(static_cast<unsigned char>(character)) != 0) {
            if (word) words.push_back(*std::exchange(word, std::nullopt));
            continue;
        }
        if (!word) word.emplace();
        if (character == quote) {
            quote = 0;
        } else if (quote == 0 && (character == '"' || character == '\'')) {
            quote = character;
        } else if (character == '\\' && quote != '\'' && i + 1 < text.size()) {
            *word += text[++i];
        } else {
            *word += character;
        }
    }
    if (quote != 0) throw Error("the options '" + std::string(text) + "' open a " + quote + " and do not close it");
    if (word) words.push_back(*word);
    return words;
}

void refuse_others(std::string_view options, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        for (const auto& [option, instead] : kRefused) {
            if (name_part(word) != option) continue;
            throw Error("the options '" + std::string(options) + "' hold " + word +
                        ", which is not for them: " + std::string(instead));
        }
    }
}

std::string absolute_file(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

std::string_view name_of(Route route) {
    return route == Route::kDirect ? "ptxas" : "ptxas -c + nvlink";
}

std::vector<std::string> split_options(std::string_view options) {
    std::vector<std::string> words = words_of(options);
    refuse_others(options, words);
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string name(name_part(words[i]));
        if (!reads_file(name)) continue;
        if (name.size() < words[i].size()) {
            words[i] = name + "=" + absolute_file(words[i].substr(name.size() + 1));
        } else if (i + 1 < words.size()) {
            words[i + 1] = absolute_file(words[i + 1]);
            ++i;
        }
    }
    return words;
}

std::vector<std::filesystem::path> files_of_options(const std::vector<std::string>& options) {
    std::vector<std::filesystem::path> files;
    for (size_t i = 0; i < options.size(); ++i) {
        const std::string_view name = name_part(options[i]);
        if (!reads_file(name)) continue;
        if (name.size() < options[i].size()) {
            files.emplace_back(options[i].substr(name.size() + 1));
        } else if (i + 1 < options.size()) {
            files.emplace_back(options[++i]);
        }
    }
    return files;
}

std::vector<std::vector<std::string>> commands(const Variant& variant) {
    const std::string arch = "-arch=" + variant.arch;
    const bool linked = variant.route == Route::kLinked;
    std::vector<std::string> ptxas = {variant.assembler.ptxas.string(), arch, "-v"};
    if (linked) ptxas.emplace_back("-c");
    const bool has_tables = std::ranges::any_of(variant.options, [](const std::string& option) {
        return std::ranges::find(kLineTables, option) != kLineTables.end();
    });
    if (variant.line_tables && !has_tables) ptxas.emplace_back("-lineinfo");
    ptxas.insert(ptxas.end(), variant.options.begin(), variant.options.end());
    ptxas.insert(ptxas.end(), {std::string(kPtxName), "-o", std::string(linked ? kObjectName : kCubinName)});
    if (!linked) return {ptxas};
    return {ptxas, {variant.assembler.nvlink.string(), arch, std::string(kObjectName), "-o", std::string(kCubinName)}};
}

}  // namespace jali::audit

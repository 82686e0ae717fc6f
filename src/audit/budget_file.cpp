// audit.toml: the user's rules, kept byte for byte, and below a marker the ratchet, which an update writes anew.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <tuple>

#include "io/atomic_file.h"
#include "io/read_file.h"
#include "jali/audit_budget.h"
#include "jali/error.h"

namespace jali::audit {

namespace {

constexpr std::string_view kMarker =
    "# --- The ratchet: what was reached. Everything below is written by `jali audit check --update`. ---";
constexpr std::string_view kMarkerBegin = "# --- The ratchet:";
constexpr size_t kLargestFile = 64 << 20;

// Where the generated part begins: at the line of the marker; past the end where there is none.
size_t marker_of(std::string_view text) {
    if (text.starts_with(kMarkerBegin)) return 0;
    const size_t at = text.find("\n" + std::string(kMarkerBegin));
    return at == std::string_view::npos ? text.size() : at + 1;
}

class Reader {
   public:
    explicit Reader(std::string name) : name_(std::move(name)) {}

    [[noreturn]] void fail(const toml::node& node, const std::string& what) const { fail(node.source(), what); }
    [[noreturn]] void fail(const toml::source_region& where, const std::string& what) const {
        throw FileError(fmt::format("{}:{}:{}: {}", name_, where.begin.line, where.begin.column, what));
    }

    toml::table parse(std::string_view text) const {
        try {
            return toml::parse(text, name_);
        } catch (const toml::parse_error& error) {
            fail(error.source(), std::string(error.description()));
        }
    }

    // A figure's limit: a whole number from 0 on, or for serialised_wgmma also true and false.
    int64_t limit_of(std::string_view name, const toml::node& node) const {
        if (const auto flag = node.value_exact<bool>(); flag && name == "serialised_wgmma") return *flag ? 1 : 0;
        const auto number = node.value_exact<int64_t>();
        if (!number || *number < 0) fail(node, fmt::format("{} must be a whole number from 0 on", name));
        return *number;
    }

    // Whether `key` is a figure, which then is set.
    bool read_limit(std::string_view key, const toml::node& node, Limits& limits) const {
        for (const auto& [name, figure] : kLimits) {
            if (name != key) continue;
            limits.*figure = limit_of(name, node);
            return true;
        }
        return false;
    }

    BudgetRule rule_of(const toml::table& table) const {
        BudgetRule rule;
        rule.line = table.source().begin.line;
        for (const auto& [key, node] : table) {
            std::string* const text = key == "kernel"      ? &rule.kernel
                                      : key == "arch"      ? &rule.arch
                                      : key == "assembler" ? &rule.assembler
                                                           : nullptr;
            if (text != nullptr) {
                const auto value = node.value_exact<std::string>();
                if (!value) fail(node, fmt::format("{} must be a pattern between quotes", key.str()));
                *text = *value;
            } else if (!read_limit(key.str(), node, rule.limits)) {
                fail(key.source(),
                     fmt::format("a rule has no '{}'; it has kernel, arch, assembler, {}", key.str(), figure_names()));
            }
        }
        if (rule.kernel.empty()) fail(table, "this rule names no kernel; kernel = \"*\" is all of them");
        if (rule.limits == Limits{})
            fail(table, fmt::format("this rule limits nothing; it may limit {}", figure_names()));
        return rule;
    }

    std::vector<BudgetRule> rules_of(const toml::table& root) const {
        std::vector<BudgetRule> rules;
        const toml::node* const node = root.get("rule");
        if (node == nullptr) return rules;
        const toml::array* const list = node->as_array();
        if (list == nullptr) fail(*node, "rules are written [[rule]], with two brackets");
        for (const toml::node& element : *list) {
            if (!element.is_table()) fail(element, "a rule is a table: [[rule]] and its lines");
            rules.push_back(rule_of(*element.as_table()));
        }
        return rules;
    }

    std::vector<std::string> figures_of(const toml::table& root) const {
        const toml::node* const node = root.get("ratchet_figures");
        if (node == nullptr) return default_ratchet_figures();
        std::vector<std::string> figures;
        if (!node->is_array()) fail(*node, "ratchet_figures must be a list of names");
        for (const toml::node& element : *node->as_array()) {
            const auto name = element.value_exact<std::string>();
            const bool known = name && std::any_of(std::begin(kLimits), std::end(kLimits),
                                                   [&](const auto& limit) { return limit.first == *name; });
            if (!known) fail(element, fmt::format("ratchet_figures knows {}", figure_names()));
            figures.push_back(*name);
        }
        return figures;
    }

    // [ratchet."sm_90a"."ptxas 13.0.88"] and a line a kernel.
    std::vector<RatchetEntry> ratchet_of(const toml::table& root) const {
        std::vector<RatchetEntry> entries;
        const toml::node* const node = root.get("ratchet");
        if (node == nullptr) return entries;
        for (const auto& [arch, by_assembler] : table_of(*node, "ratchet")) {
            for (const auto& [assembler, kernels] : table_of(by_assembler, "the ratchet of an architecture")) {
                for (const auto& [kernel, figures] : table_of(kernels, "the ratchet of an assembler")) {
                    RatchetEntry entry{std::string(kernel.str()), std::string(arch.str()),
                                       std::string(assembler.str())};
                    for (const auto& [key, value] : table_of(figures, "the ratchet of a kernel")) {
                        if (!read_limit(key.str(), value, entry.limits)) {
                            fail(value, fmt::format("the ratchet has no '{}'; it has {}", key.str(), figure_names()));
                        }
                    }
                    entries.push_back(std::move(entry));
                }
            }
        }
        return entries;
    }

   private:
    static std::string figure_names() {
        std::string names;
        for (const auto& [name, figure] : kLimits) names += (names.empty() ? "" : ", ") + std::string(name);
        return names;
    }
    const toml::table& table_of(const toml::node& node, const char* what) const {
        if (!node.is_table()) fail(node, fmt::format("{} must be a table", what));
        return *node.as_table();
    }

    std::string name_;
};

// A key or value between quotes, as TOML wants it.
std::string toml_text(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            result += fmt::format("\\u{:04X}", byte);
        } else {
            result += c;
        }
    }
    return result + '"';
}

std::string figures_text(const Limits& limits) {
    std::string text;
    for (const auto& [name, figure] : kLimits) {
        if (limits.*figure >= 0) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, limits.*figure);
    }
    return text;
}

}  // namespace

Budget parse_budget(std::string_view text, const std::string& name) {
    const Reader reader(name);
    if (text.size() > kLargestFile) {
        throw FileError(fmt::format("{} has {} bytes and a budget at most {}", name, text.size(), kLargestFile));
    }
    const toml::table root = reader.parse(text);
    for (const auto& [key, node] : root) {
        if (key != "rule" && key != "ratchet_figures" && key != "ratchet") {
            reader.fail(key.source(),
                        fmt::format("a budget has no '{}'; it has [[rule]], ratchet_figures, ratchet", key.str()));
        }
    }
    Budget budget;
    budget.rules = reader.rules_of(root);
    budget.ratchet_figures = reader.figures_of(root);
    budget.ratchet = reader.ratchet_of(root);
    std::sort(budget.ratchet.begin(), budget.ratchet.end(), [](const RatchetEntry& a, const RatchetEntry& b) {
        return std::tie(a.arch, a.assembler, a.kernel) < std::tie(b.arch, b.assembler, b.kernel);
    });

    // An update keeps what stands above the marker, so nothing of the user's may stand below, nor a ratchet above.
    budget.users_part = text.substr(0, marker_of(text));
    const toml::table users = reader.parse(budget.users_part);
    if (const toml::node* const ratchet = users.get("ratchet")) {
        reader.fail(*ratchet, fmt::format("the ratchet must stand below the line '{}'", kMarker));
    }
    const toml::node* const kept = users.get("rule");
    const size_t rules_kept = kept == nullptr ? 0 : kept->as_array()->size();
    if (rules_kept < budget.rules.size()) {
        const toml::node& lost = *root.get("rule")->as_array()->get(rules_kept);
        reader.fail(lost, "this rule stands below the ratchet's first line, where an update would remove it");
    }
    if (root.contains("ratchet_figures") && !users.contains("ratchet_figures")) {
        reader.fail(*root.get("ratchet_figures"), "ratchet_figures must stand above the ratchet's first line");
    }
    return budget;
}

Budget load_budget(const std::filesystem::path& path) {
    const std::vector<uint8_t> bytes = io::read_file(path);
    return parse_budget({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

std::string budget_text(const Budget& budget) {
    std::string text = budget.users_part;
    if (budget.ratchet.empty()) return text;
    if (!text.empty() && text.back() != '\n') text += '\n';
    if (!text.empty() && !text.ends_with("\n\n")) text += '\n';
    text += kMarker;
    const RatchetEntry* last = nullptr;
    for (const RatchetEntry& entry : budget.ratchet) {
        if (last == nullptr || last->arch != entry.arch || last->assembler != entry.assembler) {
            text += fmt::format("\n\n[ratchet.{}.{}]", toml_text(entry.arch), toml_text(entry.assembler));
        }
        text += fmt::format("\n{} = {{ {} }}", toml_text(entry.kernel), figures_text(entry.limits));
        last = &entry;
    }
    return text + "\n";
}

void save_budget(const Budget& budget, const std::filesystem::path& path) {
    io::write_file(path, budget_text(budget));
}

}  // namespace jali::audit

#include "mask/text_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mask/text_syntax.h"

namespace jali {

namespace {

std::string_view own_name(const Node& node) {
    return node.op == Op::kScalar ? std::string_view(node.name) : std::string_view(node.table->name());
}

// The name itself where the text form can say it, else what is left of it.
std::string legal_name(std::string_view own, Op op) {
    if (own.empty()) return op == Op::kScalar ? "n" : "t";
    std::string name(own);
    for (char& c : name) {
        if (!is_letter(c) && !is_digit(c)) c = '_';
    }
    if (is_digit(name[0])) name.insert(name.begin(), '_');
    if (is_reserved(name)) name += '_';
    return name;
}

bool same_thing(const Node& x, const Node& y) {
    if (x.op != y.op || own_name(x) != own_name(y)) return false;
    return x.op == Op::kScalar ? x.value == y.value : x.table->same_values(*y.table);
}

}  // namespace

bool stands_for(std::string_view key, std::string_view own) {
    const std::string legal = legal_name(own, Op::kRead);
    if (key.substr(0, legal.size()) != legal) return false;
    const std::string_view rest = key.substr(legal.size());
    return rest.empty() || (rest.size() > 1 && rest[0] == '_' && std::all_of(rest.begin() + 1, rest.end(), is_digit));
}

Names::Names(const Expression& expression) {
    collect(expression.node());
    // Scalars first: a text binds them by the printed name alone, while a table remembers its own.
    choose(Op::kScalar);
    choose(Op::kRead);
}

void Names::collect(const Node& node) {
    if ((node.op == Op::kScalar || node.op == Op::kRead) && !position_.contains(&node)) {
        const auto [first, last] = of_own_name_.equal_range(own_name(node));
        const auto found =
            std::find_if(first, last, [&](const auto& each) { return same_thing(*named_[each.second].node, node); });
        const size_t position = found == last ? named_.size() : found->second;
        if (found == last) {
            named_.push_back({.node = &node, .printed = {}});
            of_own_name_.emplace(own_name(node), position);
        }
        position_.emplace(&node, position);
    }
    for (const NodePointer& child : node.children) collect(*child);
}

void Names::choose(Op op) {
    std::set<std::string, std::less<>> taken;
    for (const Named& each : named_) taken.insert(each.printed);
    // Whoever has a legal name that is free keeps it; the others then find what is left.
    for (Named& each : named_) {
        const std::string_view own = own_name(*each.node);
        if (each.node->op == op && own == legal_name(own, op) && taken.insert(std::string(own)).second) {
            each.printed = own;
        }
    }
    std::map<std::string, int64_t> last_number;
    for (Named& each : named_) {
        if (each.node->op != op || !each.printed.empty()) continue;
        const std::string legal = legal_name(own_name(*each.node), op);
        each.printed = legal;
        int64_t& number = last_number.try_emplace(legal, 1).first->second;
        while (!taken.insert(each.printed).second) each.printed = fmt::format("{}_{}", legal, ++number);
    }
}

Bindings Names::bindings() const {
    Bindings bindings;
    for (const Named& each : named_) {
        if (each.node->op == Op::kScalar) {
            bindings.scalars.emplace(each.printed, each.node->value);
        } else {
            bindings.tables.emplace(each.printed, *each.node->table);
        }
    }
    return bindings;
}

}  // namespace jali

// The JSON form: entries of a predicate's text with the lengths, scalars and tables that it is about.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "jali/error.h"
#include "jali/predicate_text.h"

namespace jali {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // written in our order; slow to read, as it searches its members

constexpr int64_t kMaximumLength = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaximumSize = int64_t{1} << 40;  // of a table
constexpr int kMaximumJsonDepth = 64;

// "entry 3", or the name where there is one.
std::string title(const Json& entry, size_t position) {
    const auto name = entry.find("name");
    if (name != entry.end() && name->is_string() && !name->get_ref<const std::string&>().empty()) {
        return fmt::format("mask {}", name->dump(-1, ' ', true));
    }
    return fmt::format("mask {}", position + 1);
}

[[noreturn]] void fail_at(const std::string& where, const std::string& message) {
    throw Error(fmt::format("{}: {}", where, message));
}

// What stands there, short enough for a sentence.
std::string seen(const Json& value) {
    constexpr size_t kLongest = 40;
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    const std::string text = value.dump(-1, ' ', true);
    return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

// An integer of 64 signed bits, or nothing.
std::optional<int64_t> integer_in(const Json& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<uint64_t>();
        if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
        return static_cast<int64_t>(number);
    }
    if (value.is_number_integer()) return value.get<int64_t>();
    return std::nullopt;
}

// A count of the domain; `fallback` where the member is absent, which without one is an error.
int64_t count_of(const Json& entry, const char* member, int64_t least, std::optional<int64_t> fallback,
                 const std::string& where) {
    const auto found = entry.find(member);
    if (found == entry.end()) {
        if (fallback) return *fallback;
        fail_at(where, fmt::format("member \"{}\" is missing", member));
    }
    const std::optional<int64_t> count = integer_in(*found);
    if (!count || *count < least || *count > kMaximumLength) {
        fail_at(where, fmt::format("member \"{}\" is {} and must be an integer from {} to {}", member, seen(*found),
                                   least, kMaximumLength));
    }
    return *count;
}

const Json& object_in(const Json& entry, const char* member, const std::string& where) {
    static const Json kNone = Json::object();
    const auto found = entry.find(member);
    if (found == entry.end()) return kNone;
    if (!found->is_object()) {
        fail_at(where, fmt::format("member \"{}\" is {} and must be an object", member, seen(*found)));
    }
    return *found;
}

const Json& list_in(const Json& table, const char* member, const std::string& where) {
    const auto found = table.find(member);
    if (found == table.end()) fail_at(where, fmt::format("member \"{}\" is missing", member));
    if (!found->is_array()) {
        fail_at(where, fmt::format("member \"{}\" is {} and must be a list", member, seen(*found)));
    }
    return *found;
}

std::vector<int64_t> shape_in(const Json& table, const std::string& where) {
    std::vector<int64_t> shape;
    for (const Json& each : list_in(table, "shape", where)) {
        const std::optional<int64_t> extent = integer_in(each);
        if (!extent || *extent < 0 || *extent > kMaximumLength) {
            fail_at(where, fmt::format("extent {} of \"shape\" is {} and must be an integer from 0 to {}", shape.size(),
                                       seen(each), kMaximumLength));
        }
        shape.push_back(*extent);
    }
    if (shape.empty() || shape.size() > 4) {
        fail_at(where, fmt::format("\"shape\" has rank {} and must have rank 1 to 4", shape.size()));
    }
    return shape;
}

int64_t size_of(const std::vector<int64_t>& shape, const std::string& where) {
    int64_t size = 1;
    for (const int64_t extent : shape) {
        if (size > kMaximumSize / std::max<int64_t>(extent, 1)) {
            fail_at(where, fmt::format("shape [{}] has more than 2^40 values", fmt::join(shape, ", ")));
        }
        size *= extent;
    }
    return size;
}

TableType type_in(const Json& table, const std::string& where) {
    const auto found = table.find("dtype");
    if (found == table.end()) fail_at(where, "member \"dtype\" is missing");
    if (*found == "int64") return TableType::kInteger;
    if (*found == "bool") return TableType::kBoolean;
    fail_at(where, fmt::format("member \"dtype\" is {} and must be \"int64\" or \"bool\"", seen(*found)));
}

std::vector<int64_t> integers_in(const Json& list, const std::string& where) {
    std::vector<int64_t> values;
    values.reserve(list.size());
    for (const Json& each : list) {
        const std::optional<int64_t> value = integer_in(each);
        if (!value) {
            fail_at(where,
                    fmt::format("value {} is {} and must be an integer of 64 signed bits", values.size(), seen(each)));
        }
        values.push_back(*value);
    }
    return values;
}

std::vector<uint8_t> booleans_in(const Json& list, const std::string& where) {
    std::vector<uint8_t> values;
    values.reserve(list.size());
    for (const Json& each : list) {
        const std::optional<int64_t> value = each.is_boolean() ? each.get<bool>() : integer_in(each);
        if (value != 0 && value != 1) {
            fail_at(where, fmt::format("value {} is {} and must be true, false, 0 or 1", values.size(), seen(each)));
        }
        values.push_back(static_cast<uint8_t>(*value));
    }
    return values;
}

Table table_in(const std::string& name, const Json& json, const std::string& where) {
    if (!json.is_object()) fail_at(where, fmt::format("is {} and must be an object", seen(json)));
    const TableType type = type_in(json, where);
    std::vector<int64_t> shape = shape_in(json, where);
    const Json& list = list_in(json, "values", where);
    const int64_t size = size_of(shape, where);
    if (std::cmp_not_equal(list.size(), size)) {
        fail_at(where, fmt::format("shape [{}] needs {} values but has {}", fmt::join(shape, ", "), size, list.size()));
    }
    if (type == TableType::kBoolean) return Table::booleans(name, booleans_in(list, where), std::move(shape));
    return Table::integers(name, integers_in(list, where), std::move(shape));
}

Bindings bindings_in(const Json& entry, const std::string& where) {
    Bindings bindings;
    for (const auto& [name, value] : object_in(entry, "scalars", where).items()) {
        const std::optional<int64_t> scalar = integer_in(value);
        if (!scalar) {
            fail_at(where, fmt::format("scalar {} is {} and must be an integer of 64 signed bits",
                                       Json(name).dump(-1, ' ', true), seen(value)));
        }
        bindings.scalars.emplace(name, *scalar);
    }
    for (const auto& [name, value] : object_in(entry, "tables", where).items()) {
        bindings.tables.emplace(
            name, table_in(name, value, fmt::format("{}: table {}", where, Json(name).dump(-1, ' ', true))));
    }
    return bindings;
}

MaskSpecification specification_in(const Json& entry, size_t position) {
    if (!entry.is_object()) {
        throw Error(fmt::format("mask {} is {} and must be an object", position + 1, seen(entry)));
    }
    const std::string where = title(entry, position);
    const auto name = entry.find("name");
    if (name != entry.end() && !name->is_string()) {
        fail_at(where, fmt::format("member \"name\" is {} and must be a string", seen(*name)));
    }
    const auto text = entry.find("text");
    if (text == entry.end()) fail_at(where, "member \"text\" is missing");
    if (!text->is_string()) fail_at(where, fmt::format("member \"text\" is {} and must be a string", seen(*text)));
    Domain domain;
    domain.batch = count_of(entry, "B", 1, 1, where);
    domain.heads = count_of(entry, "H", 1, 1, where);
    domain.q_len = count_of(entry, "q_len", 0, std::nullopt, where);
    domain.kv_len = count_of(entry, "kv_len", 0, std::nullopt, where);
    const Bindings bindings = bindings_in(entry, where);
    try {
        ParsedPredicate parsed = parse_predicate(text->get_ref<const std::string&>(), bindings);
        return {name == entry.end() ? std::string() : name->get<std::string>(), std::move(parsed.predicate), domain,
                std::move(parsed.warnings)};
    } catch (const ParseError& error) {
        fail_at(where, fmt::format("member \"text\": {}", error.what()));
    } catch (const Error& error) {
        fail_at(where, error.what());
    }
}

std::string line_and_column(std::string_view json, size_t byte) {
    const std::string_view before = json.substr(0, std::min(byte, json.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t newline = before.rfind('\n');
    return fmt::format("line {}, column {}", line, before.size() - (newline == before.npos ? 0 : newline + 1) + 1);
}

// Nesting is bounded and no object has a member twice: the second would silently replace the first.
Json parse_json(std::string_view json) {
    std::vector<std::set<std::string, std::less<>>> members;
    const auto check = [&members](int depth, nlohmann::detail::parse_event_t event, Json& parsed) {
        using Event = nlohmann::detail::parse_event_t;
        if (depth > kMaximumJsonDepth) {
            throw Error(fmt::format("the JSON text is nested more than {} deep", kMaximumJsonDepth));
        }
        if (event == Event::object_start) members.emplace_back();
        if (event == Event::object_end) members.pop_back();
        if (event == Event::key && !members.back().insert(parsed.get<std::string>()).second) {
            throw Error(fmt::format("the JSON text has member {} twice in one object", seen(parsed)));
        }
        return true;
    };
    try {
        return Json::parse(json.begin(), json.end(), check);
    } catch (const Json::parse_error& error) {
        const size_t byte = error.byte > 0 ? error.byte - 1 : 0;
        if (byte >= json.size()) throw Error("the JSON text ends too early");
        throw Error(fmt::format("the JSON text is wrong at {}", line_and_column(json, byte)));
    } catch (const Json::exception&) {
        throw Error("the JSON text has a number that is too large");
    }
}

OrderedJson json_of(const Table& table) {
    OrderedJson values = OrderedJson::array();
    for (int64_t i = 0; i < table.size(); ++i) values.push_back(table[i]);
    return {{"dtype", table.type() == TableType::kBoolean ? "bool" : "int64"},
            {"shape", table.shape()},
            {"values", std::move(values)}};
}

}  // namespace

std::vector<MaskSpecification> parse_specifications(std::string_view json) {
    const Json all = parse_json(json);
    if (!all.is_array() && !all.is_object()) {
        throw Error(fmt::format("the JSON text is {} and must be a mask or a list of masks", seen(all)));
    }
    std::vector<MaskSpecification> specifications;
    if (all.is_object()) {
        specifications.push_back(specification_in(all, 0));
        return specifications;
    }
    std::set<std::string> names;
    for (const Json& entry : all) {
        specifications.push_back(specification_in(entry, specifications.size()));
        const std::string& name = specifications.back().name;
        if (!name.empty() && !names.insert(name).second) {
            throw Error(fmt::format("two masks have the name {}", Json(name).dump(-1, ' ', true)));
        }
    }
    return specifications;
}

std::string to_json(const MaskSpecification& specification) {
    const Bindings bindings = bindings_of(specification.predicate);
    OrderedJson entry;
    if (!specification.name.empty()) entry["name"] = specification.name;
    entry["text"] = to_text(specification.predicate);
    entry["B"] = specification.domain.batch;
    entry["H"] = specification.domain.heads;
    entry["q_len"] = specification.domain.q_len;
    entry["kv_len"] = specification.domain.kv_len;
    entry["scalars"] = OrderedJson::object();
    for (const auto& [name, value] : bindings.scalars) entry["scalars"][name] = value;
    entry["tables"] = OrderedJson::object();
    for (const auto& [name, table] : bindings.tables) entry["tables"][name] = json_of(table);
    try {
        return entry.dump();
    } catch (const OrderedJson::type_error&) {
        throw Error("the name of the mask is not UTF-8 and JSON cannot hold it");
    }
}

}  // namespace jali

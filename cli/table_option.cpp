#include "cli/table_option.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cli/numbers.h"
#include "cli/output_files.h"
#include "io/npy.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

std::pair<std::string, std::string> split_name(std::string_view option, const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        throw Error(fmt::format("{} is '{}' but must be NAME=VALUE", option, text));
    }
    return {text.substr(0, equals), text.substr(equals + 1)};
}

// `text` without `prefix`, or nothing.
bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

Table table_from_file(const std::string& name, const std::string& file) {
    note_input(file);
    io::NpyArray array = io::read_npy(file);
    if (array.shape.empty() || array.shape.size() > 4) {
        throw Error(
            fmt::format("--table {}: {} has rank {} but a table has rank 1 to 4", name, file, array.shape.size()));
    }
    return array.is_boolean ? Table::booleans(name, array.booleans, std::move(array.shape))
                            : Table::integers(name, array.integers, std::move(array.shape));
}

Table read_table(const std::string& name, const std::string& specification) {
    const std::string what = fmt::format("--table {}", name);
    std::string_view values = specification;
    if (values.ends_with(".npy")) return table_from_file(name, specification);
    if (take_prefix(values, "lengths:")) return Table::documents(name, parse_integers(what, values));
    if (take_prefix(values, "offsets:")) return Table::documents_from_offsets(name, parse_integers(what, values));
    if (values.find_first_of("0123456789") == std::string_view::npos) {
        throw Error(
            fmt::format("{} is '{}' but must be FILE.npy, lengths:4,7,9, offsets:0,4,11 or 1,2,3", what, values));
    }
    return Table(name, parse_integers(what, values));
}

}  // namespace

Bindings read_bindings(const std::vector<std::string>& tables, const std::vector<std::string>& scalars) {
    Bindings bindings;
    for (const std::string& option : tables) {
        const auto [name, specification] = split_name("--table", option);
        if (!bindings.tables.emplace(name, read_table(name, specification)).second) {
            throw Error(fmt::format("--table {} is given twice", name));
        }
    }
    for (const std::string& option : scalars) {
        const auto [name, value] = split_name("--scalar", option);
        if (!bindings.scalars.emplace(name, parse_integer(fmt::format("--scalar {}", name), value)).second) {
            throw Error(fmt::format("--scalar {} is given twice", name));
        }
        if (bindings.tables.contains(name)) throw Error(fmt::format("{} is both a --table and a --scalar", name));
    }
    return bindings;
}

}  // namespace jali::cli

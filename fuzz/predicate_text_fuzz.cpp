// Any bytes as the text of a predicate: an Error that points into the text, or a tree that prints and parses back.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jali/error.h"
#include "jali/predicate_text.h"

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

jali::Bindings make_bindings() {
    const std::vector<int64_t> integers{0, 0, 1, 1, 2, -1};
    const std::vector<uint8_t> booleans{0, 1, 1, 0};
    jali::Bindings bindings;
    bindings.scalars = {{"w", 300}, {"n", -1}};
    bindings.tables.emplace("doc", jali::Table("doc", integers));
    bindings.tables.emplace("doc_2", jali::Table::integers("doc", integers, {6, 1}));
    bindings.tables.emplace("t", jali::Table("", integers));
    bindings.tables.emplace("pick", jali::Table::integers("pick", integers, {1, 2, 3}));
    bindings.tables.emplace("seen", jali::Table::booleans("another name", booleans, {4}));
    bindings.tables.emplace("four", jali::Table::booleans("four", booleans, {2, 1, 1, 2}));
    return bindings;
}

void check_error(const jali::ParseError& error, std::string_view text) {
    require(error.column() >= 1, "the column is at least 1");
    require(static_cast<size_t>(error.column()) <= text.size() + 1, "the column lies in the text");
    for (const char* c = error.what(); *c != '\0'; ++c) {
        require(static_cast<unsigned char>(*c) >= ' ', "the message is one line");
    }
}

void check_round_trip(const jali::Predicate& keep) {
    const std::string printed = jali::to_text(keep);
    const jali::ParsedPredicate again = jali::parse_predicate(printed, jali::bindings_of(keep));
    require(again.predicate.same_as(keep), "the printed text parses back to the same tree");
    require(again.warnings.empty(), "the printed text has no warning");
    require(jali::to_text(again.predicate) == printed, "printing again gives the same text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const jali::Bindings bindings = make_bindings();
    const std::string text(data, data + size);
    std::optional<jali::ParsedPredicate> parsed;
    try {
        parsed = jali::parse_predicate(text, bindings);
    } catch (const jali::ParseError& error) {
        check_error(error, text);
    }
    if (parsed) check_round_trip(parsed->predicate);
    return 0;
}

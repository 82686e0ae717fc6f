#include "cli/mask_source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <string_view>

#include "cli/console.h"
#include "cli/numbers.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/table_option.h"
#include "io/read_file.h"
#include "jali/error.h"
#include "jali/mask_file.h"
#include "jali/predicate_text.h"

namespace jali::cli {

namespace {

constexpr IntegerRange kLength{0, std::numeric_limits<int32_t>::max()};
constexpr IntegerRange kCount{1, std::numeric_limits<int32_t>::max()};

GridChoice grid_choice(std::string_view text) {
    if (text == "aligned") return GridChoice::kAligned;
    if (text == "anchored") return GridChoice::kAnchored;
    if (text == "auto") return GridChoice::kAutomatic;
    throw Error(fmt::format("--grid is '{}' but must be auto, aligned or anchored", text));
}

// How many batches or heads the user speaks of: `asked` where it is given; a mask that depends on them has its own.
int64_t spread(std::string_view name, std::string_view dimension, int64_t own, bool depends,
               const std::optional<int64_t>& asked) {
    const int64_t count = asked.value_or(own);
    if (depends && count != own) {
        throw Error(fmt::format("mask '{}' is for {} but {} asked for", name, plural(own, dimension),
                                count == 1 ? "1 is" : fmt::format("{} are", group_digits(count))));
    }
    return count;
}

std::optional<int64_t> wanted(const std::optional<int64_t>& option, const std::optional<Domain>& sizes,
                              int64_t Domain::*member) {
    return option || !sizes ? option : std::optional<int64_t>((*sizes).*member);
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// What TEXT does not read is a slip of the pen more often than it is meant.
void require_named(const std::string& text, std::string_view option, const std::string& name) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        const size_t end = at + name.size();
        if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return;
    }
    throw Error(fmt::format("{} {} has no effect: TEXT does not name it", option, name));
}

MaskSource read_text(const MaskOptions& options, const std::optional<Domain>& sizes) {
    const auto q_len = wanted(options.q_len, sizes, &Domain::q_len);
    if (!q_len) throw Error("--q-len is needed with a mask given as text");
    Domain domain;
    domain.q_len = *q_len;
    domain.kv_len = wanted(options.kv_len, sizes, &Domain::kv_len).value_or(*q_len);
    domain.batch = wanted(options.batch, sizes, &Domain::batch).value_or(1);
    domain.heads = wanted(options.heads, sizes, &Domain::heads).value_or(1);
    const Bindings bindings = read_bindings(options.tables, options.scalars);
    ParsedPredicate parsed = parse_predicate(options.text, bindings);
    for (const std::string& warning : parsed.warnings) warn(warning);
    for (const auto& [name, table] : bindings.tables) require_named(options.text, "--table", name);
    for (const auto& [name, value] : bindings.scalars) require_named(options.text, "--scalar", name);
    return {options.name.empty() ? CLI::detail::trim_copy(options.text) : options.name,
            std::move(parsed.predicate),
            {},
            domain};
}

MaskSources read_entries(const MaskOptions& options) {
    note_input(options.spec_file);
    const std::vector<uint8_t> bytes = io::read_file(options.spec_file);
    const std::string_view json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::vector<MaskSpecification> entries = [&] {
        try {
            return parse_specifications(json);
        } catch (const Error& error) {
            throw Error(fmt::format("{}: {}", options.spec_file, error.what()));
        }
    }();
    if (entries.empty()) throw Error(fmt::format("{} is an empty list: there is no mask in it", options.spec_file));
    if (!options.name.empty()) {
        std::string names;
        for (const auto& entry : entries) names += (names.empty() ? "" : ", ") + entry.name;
        std::erase_if(entries, [&](const auto& entry) { return entry.name != options.name; });
        if (entries.empty()) {
            throw Error(fmt::format("{} has no mask named '{}', it has: {}", options.spec_file, options.name, names));
        }
    }
    MaskSources sources;
    const size_t first = json.find_first_not_of(" \t\r\n");
    sources.list = options.name.empty() && first != std::string_view::npos && json[first] == '[';
    for (MaskSpecification& entry : entries) {
        for (const std::string& warning : entry.warnings) warn(fmt::format("{}: {}", entry.name, warning));
        Domain domain = entry.domain;
        domain.batch = spread(entry.name, "batch", domain.batch, entry.predicate.uses_b(), options.batch);
        domain.heads = spread(entry.name, "head", domain.heads, entry.predicate.uses_h(), options.heads);
        std::string name = entry.name.empty() ? to_text(entry.predicate) : std::move(entry.name);
        sources.masks.push_back({std::move(name), std::move(entry.predicate), {}, domain});
    }
    return sources;
}

MaskSource read_mask_file(const MaskOptions& options) {
    note_input(options.mask_file);
    BlockMask mask = load_mask(options.mask_file, parse_bytes("--byte-limit", options.byte_limit));
    const std::string name =
        options.name.empty() ? std::filesystem::path(options.mask_file).stem().string() : options.name;
    Domain domain{.q_len = mask.q_len(), .kv_len = mask.kv_len()};
    domain.batch = spread(name, "batch", mask.batch(), mask.batch() != 1, options.batch);
    domain.heads = spread(name, "head", mask.heads(), mask.heads() != 1, options.heads);
    return {name, {}, std::move(mask), domain};
}

}  // namespace

void add_mask_options(CLI::App& app, MaskOptions& options) {
    const std::string group = "Mask (one of TEXT, --spec and --mask)";
    CLI::Option* text = app.add_option("TEXT", options.text, "The predicate, for example \"q >= kv\"")->type_name("");
    CLI::Option* spec = app.add_option("--spec", options.spec_file, "A JSON file with one mask or a list of masks")
                            ->type_name("FILE.json");
    CLI::Option* mask = app.add_option("--mask", options.mask_file, "A block mask that jali mask --save wrote")
                            ->type_name("FILE.jmask");
    CLI::Option* name = app.add_option("--name", options.name, "The mask of --spec to take; elsewhere, what to call it")
                            ->type_name("NAME");
    CLI::Option* q_len = add_integer(app, "--q-len", options.q_len, kLength, "Queries (with TEXT)");
    CLI::Option* kv_len =
        add_integer(app, "--kv-len", options.kv_len, kLength, "Keys (with TEXT; else as many as queries)");
    CLI::Option* tables = app.add_option("--table", options.tables,
                                         "A table that TEXT reads; SPEC is FILE.npy, lengths:4,7,9 (document ids),\n"
                                         "offsets:0,4,11 (ids from cumulative offsets) or 1,2,3; once a table")
                              ->type_name("NAME=SPEC")
                              ->allow_extra_args(false);
    CLI::Option* scalars = app.add_option("--scalar", options.scalars, "A number that TEXT names; once a number")
                               ->type_name("NAME=INT")
                               ->allow_extra_args(false);
    CLI::Option* batch =
        add_integer(app, "--batch", options.batch, kCount, "Batches b (else the mask's own, 1 for TEXT)");
    CLI::Option* heads =
        add_integer(app, "--heads", options.heads, kCount, "Query heads h (else the mask's own, 1 for TEXT)");
    CLI::Option* grid =
        app.add_option("--grid", options.grid, "Tile boundaries: auto (fewest computed pairs), aligned or anchored")
            ->type_name("GRID")
            ->default_str(options.grid);
    CLI::Option* limit = app.add_option("--byte-limit", options.byte_limit, "Refuse a larger block mask; 64MiB, say")
                             ->type_name("BYTES")
                             ->default_str(options.byte_limit);
    for (CLI::Option* option : {spec, mask, name, q_len, kv_len, tables, scalars, batch, heads, grid, limit}) {
        option->group(group);
    }
    for (CLI::Option* option : {q_len, kv_len, tables, scalars}) option->excludes(spec)->excludes(mask);
    grid->excludes(mask);
    text->excludes(spec)->excludes(mask);
    spec->excludes(mask);
}

MaskSources read_masks(const MaskOptions& options, const std::optional<Domain>& sizes) {
    grid_choice(options.grid);
    parse_bytes("--byte-limit", options.byte_limit);
    if (!options.text.empty()) return {{read_text(options, sizes)}};
    if (!options.spec_file.empty()) return read_entries(options);
    if (!options.mask_file.empty()) return {{read_mask_file(options)}};
    throw Error("no mask is given: write a predicate such as \"q >= kv\", or use --spec or --mask");
}

MaskSource read_one_mask(const MaskOptions& options, const std::optional<Domain>& sizes) {
    std::vector<MaskSource> sources = read_masks(options, sizes).masks;
    if (sources.size() != 1) {
        throw Error(fmt::format("{} has {}; choose one with --name", options.spec_file,
                                plural(static_cast<int64_t>(sources.size()), "mask")));
    }
    return std::move(sources.front());
}

BuiltMask build(const MaskSource& source, const MaskOptions& options) {
    const Progress progress("building the block mask");
    if (source.loaded) return {*source.loaded, {}};
    BuildOptions build_options{.domain = source.domain, .grid = grid_choice(options.grid)};
    build_options.byte_limit = parse_bytes("--byte-limit", options.byte_limit);
    BuildStatistics cost;
    BlockMask mask = build_block_mask(*source.predicate, build_options, &cost);
    return {std::move(mask), cost};
}

std::string text_of(const MaskSource& source) {
    return source.predicate ? to_text(*source.predicate) : "";
}

}  // namespace jali::cli

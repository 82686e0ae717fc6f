// Where a mask comes from: TEXT with its sizes, entries of a JSON file, or a block mask file. Shared by `mask`, `run`,
// `check` and `bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jali/block_mask.h"
#include "jali/predicate.h"

namespace CLI {
class App;
}

namespace jali::cli {

struct MaskOptions {
    std::string text, spec_file, mask_file;  // exactly one is given
    std::string name;
    std::optional<int64_t> q_len, kv_len, batch, heads;
    std::vector<std::string> tables, scalars;  // NAME=SPEC, NAME=INT
    std::string grid = "auto";
    std::string byte_limit = "1GiB";
};

// Adds TEXT, --spec, --mask and what belongs to them.
void add_mask_options(CLI::App& app, MaskOptions& options);

// A mask before it is built. Either `predicate` or `loaded` has a value.
struct MaskSource {
    std::string name;  // the entry's, --name, the file's, or the text itself
    std::optional<Predicate> predicate;
    std::optional<BlockMask> loaded;
    Domain domain;  // the sizes that the user speaks of: counts are over its whole batch x heads
};

struct MaskSources {
    std::vector<MaskSource> masks;
    bool list = false;  // a JSON list of which none was chosen by name, however many it has
};

// Every mask that the options name; warnings go to standard error. `sizes` are the defaults of TEXT's.
// Throws Error.
MaskSources read_masks(const MaskOptions& options, const std::optional<Domain>& sizes = {});
// The same where exactly one must be named.
MaskSource read_one_mask(const MaskOptions& options, const std::optional<Domain>& sizes = {});

struct BuiltMask {
    BlockMask mask;
    BuildStatistics cost;  // of a loaded mask: nothing but the time of loading
};
BuiltMask build(const MaskSource& source, const MaskOptions& options);

// The predicate in its text form; empty for a loaded mask.
std::string text_of(const MaskSource& source);

}  // namespace jali::cli

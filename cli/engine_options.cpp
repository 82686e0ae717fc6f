#include "cli/engine_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "attention/cpu/workers.h"
#include "cli/numbers.h"
#include "cli/reference_engine.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr IntegerRange kThreads{1, 4096};

}  // namespace

void add_engine_options(CLI::App& app, EngineOptions& options) {
    const std::string group = "Engine";
    app.add_option("--engine", options.engine, "The engine (jali info lists them)")
        ->type_name("NAME")
        ->default_str(options.engine)
        ->group(group);
    add_integer(app, "--threads", options.threads, kThreads, "Threads (default: all); results do not depend on it")
        ->group(group);
    add_number(app, "--scale", options.scale, "The scale of scores (default: 1 / sqrt of the head dimension)")
        ->group(group);
}

AttentionOptions attention_options(const EngineOptions& options, Reference reference) {
    std::string names = reference == Reference::kAllowed ? kReferenceEngine : "";
    bool known = options.engine == names;
    for (const EngineInfo& engine : engines()) {
        names += (names.empty() ? "" : ", ") + engine.name;
        known |= engine.name == options.engine;
    }
    if (!known) throw Error(fmt::format("engine '{}' is unknown; there is: {}", options.engine, names));
    return {options.scale, options.engine, static_cast<int>(options.threads.value_or(0))};
}

int most_threads(const std::optional<int64_t>& threads) {
    return cpu::thread_count(static_cast<int>(threads.value_or(0)), std::numeric_limits<int>::max());
}

std::string describe_engine(const std::string& name) {
    for (const EngineInfo& engine : engines()) {
        if (engine.name == name) return fmt::format("{} ({})", name, engine.description);
    }
    return fmt::format("{} (float64)", name);
}

DType parse_dtype(const std::string& text) {
    if (text == "fp32" || text == "float32" || text == "f32") return DType::kFloat32;
    if (text == "bf16" || text == "bfloat16") return DType::kBFloat16;
    if (text == "fp16" || text == "float16" || text == "f16") return DType::kFloat16;
    throw Error(fmt::format("--dtype is '{}' but must be fp32, bf16 or fp16", text));
}

}  // namespace jali::cli

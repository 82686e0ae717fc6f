// --engine, --threads and --scale: shared by `run`, `check` and `bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jali/attention.h"
#include "jali/tensor.h"

namespace CLI {
class App;
}

namespace jali::cli {

struct EngineOptions {
    std::string engine = "cpu";
    std::optional<int64_t> threads;
    std::optional<double> scale;
};

void add_engine_options(CLI::App& app, EngineOptions& options);

// Throws Error where there is no such engine; `reference` is one only where it is allowed.
enum class Reference : uint8_t { kRefused, kAllowed };
AttentionOptions attention_options(const EngineOptions& options, Reference reference = Reference::kRefused);
// How many threads a call that asks for `threads` runs on at most: all, or the environment's JALI_THREADS, by default.
int most_threads(const std::optional<int64_t>& threads);
// "cpu (AVX-512)".
std::string describe_engine(const std::string& name);

// float32, bf16, fp16 and their other usual names. Throws Error.
DType parse_dtype(const std::string& text);

}  // namespace jali::cli

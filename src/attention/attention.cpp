// The call: checks, the engine by name, defaults.
#include "jali/attention.h"

#include <cmath>

#include "attention/call.h"
#include "attention/checks.h"
#include "attention/cpu/engine.h"
#include "attention/cuda_engine.h"
#include "jali/error.h"

namespace jali {

namespace {

std::string cpu_description() {
    return std::string(cpu::chosen_primitives().name) + " float32 products, on the processor's threads";
}

const Engine& engine_named(const std::string& name) {
    std::string names;
    for (const Engine& engine : engine_registry()) {
        if (engine.name == name) return engine;
        names += (names.empty() ? "" : ", ") + std::string(engine.name);
    }
    throw Error("engine \"" + name + "\" is unknown; this build has: " + names);
}

float scale_of(const AttentionOptions& options, const TensorView& q) {
    return static_cast<float>(options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.shape[3]))));
}

}  // namespace

const std::vector<Engine>& engine_registry() {
    static const std::vector<Engine> registry = [] {
        std::vector<Engine> engines{{"cpu", cpu_description, cpu::forward, cpu::backward}};
        for (const Engine& engine : cuda_engines()) engines.push_back(engine);
        return engines;
    }();
    return registry;
}

std::vector<EngineInfo> engines() {
    std::vector<EngineInfo> infos;
    for (const Engine& engine : engine_registry()) infos.push_back({std::string(engine.name), engine.description()});
    return infos;
}

void attention_forward(const ForwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options) {
    const Engine& engine = engine_named(options.engine);
    check_forward(tensors, mask, options);
    engine.forward({tensors, mask, scale_of(options, tensors.q), options.threads});
}

void attention_backward(const BackwardTensors& tensors, const BlockMask& mask, const AttentionOptions& options) {
    const Engine& engine = engine_named(options.engine);
    check_backward(tensors, mask, options);
    engine.backward({tensors, mask, scale_of(options, tensors.q), options.threads});
}

}  // namespace jali

// No GPU engine: the build found no CUDA compiler.
#include "attention/cuda_engine.h"

namespace jali {

std::vector<Engine> cuda_engines() {
    return {};
}

}  // namespace jali

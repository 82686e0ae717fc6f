// Eight lanes with FMA and F16C; compiled with these instructions (cmake/cpu_engine.cmake).
#include "attention/cpu/primitives.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include "attention/cpu/primitives_generic.h"

namespace jali::cpu {

const Primitives* avx2_primitives() {
    static constexpr Primitives primitives = make_primitives("avx2");
    // Every processor with AVX2 has F16C, which clang 14 cannot ask for.
    const bool runs = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    return runs ? &primitives : nullptr;
}

}  // namespace jali::cpu

#else

namespace jali::cpu {

const Primitives* avx2_primitives() {
    return nullptr;
}

}  // namespace jali::cpu

#endif

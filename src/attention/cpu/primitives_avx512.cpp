// Sixteen lanes; compiled for AVX-512 F, BW, DQ and VL (cmake/cpu_engine.cmake).
#include "attention/cpu/primitives.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include "attention/cpu/primitives_generic.h"

namespace jali::cpu {

const Primitives* avx512_primitives() {
    static constexpr Primitives primitives = make_primitives("avx512");
    const bool runs = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                      __builtin_cpu_supports("fma") != 0;
    return runs ? &primitives : nullptr;
}

}  // namespace jali::cpu

#else

namespace jali::cpu {

const Primitives* avx512_primitives() {
    return nullptr;
}

}  // namespace jali::cpu

#endif

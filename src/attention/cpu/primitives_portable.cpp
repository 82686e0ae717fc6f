// The primitives for any processor: four lanes, compiled for the build's baseline.
#include "attention/cpu/primitives_generic.h"

namespace jali::cpu {

const Primitives* portable_primitives() {
    static constexpr Primitives primitives = make_primitives("portable");
    return &primitives;
}

}  // namespace jali::cpu

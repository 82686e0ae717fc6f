// Which primitives run: the fastest that the processor has, or the ones that JALI_CPU names.
#include <cstdlib>
#include <string>

#include "attention/cpu/primitives.h"
#include "jali/error.h"

namespace jali::cpu {

std::vector<const Primitives*> available_primitives() {
    std::vector<const Primitives*> available;
    for (const Primitives* candidate : {avx512_primitives(), avx2_primitives(), portable_primitives()})
        if (candidate != nullptr) available.push_back(candidate);
    return available;
}

const Primitives& chosen_primitives() {
    const std::vector<const Primitives*> available = available_primitives();
    const char* wanted = std::getenv("JALI_CPU");
    if (wanted == nullptr || *wanted == '\0') return *available.front();
    std::string names;
    for (const Primitives* candidate : available) {
        if (candidate->name == wanted) return *candidate;
        names += (names.empty() ? "" : ", ") + std::string(candidate->name);
    }
    throw Error("JALI_CPU is \"" + std::string(wanted) + "\" but this machine runs: " + names);
}

}  // namespace jali::cpu

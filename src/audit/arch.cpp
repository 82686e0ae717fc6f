#include "audit/arch.h"

#include <charconv>

namespace jali::audit {

int arch_number(std::string_view arch) {
    constexpr std::string_view kPrefix = "sm_";
    int number = 0;
    if (arch.starts_with(kPrefix)) std::from_chars(arch.data() + kPrefix.size(), arch.data() + arch.size(), number);
    return number;
}

}  // namespace jali::audit

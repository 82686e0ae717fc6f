// Names of architectures.
#pragma once

#include <string_view>

namespace jali::audit {

// Machine code of older ones is another.
constexpr int kFirstArchRead = 80;

// 90 of "sm_90a"; 0 where it is no such name.
int arch_number(std::string_view arch);

}  // namespace jali::audit

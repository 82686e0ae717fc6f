// Patterns over names: * is any text, ? any one byte, everything else itself.
#pragma once

#include <string_view>

namespace jali::audit {

// Takes at most pattern x text steps, whatever they hold.
bool matches_glob(std::string_view text, std::string_view pattern);

}  // namespace jali::audit

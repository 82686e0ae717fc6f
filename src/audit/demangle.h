// C++ names out of files that nobody vouches for.
#pragma once

#include <string>

namespace jali::audit {

// The name as its author wrote it; `name` itself where it is no mangled C++ name, or one that takes more than 64 KiB
// to write down: a hundred bytes can name gigabytes.
std::string demangle(const std::string& name);

}  // namespace jali::audit

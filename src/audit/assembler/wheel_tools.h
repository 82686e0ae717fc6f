// The assembler and linker out of a Python wheel of NVIDIA's, and nothing else of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace jali::audit {

// Writes <folder>/ptxas and, where the wheel has one, <folder>/nvlink, executable. Returns their names. Throws
// FileError: no zip file, damaged, no ptxas in it, larger than a gigabyte.
std::vector<std::string> extract_tools(const std::filesystem::path& wheel, const std::filesystem::path& folder);

}  // namespace jali::audit

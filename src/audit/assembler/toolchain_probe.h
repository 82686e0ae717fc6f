// What an assembler on disk is, asked once and remembered by its path, size and time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "jali/audit_assemble.h"

namespace jali::audit {

// Nothing where the file does not run as a ptxas. nvlink is taken from beside it.
std::optional<Assembler> probe(const std::filesystem::path& path);
// Assembler::sha256 out of the hashes of the two files; of nvlink empty where there is none.
std::string sha256_of_tools(const std::string& ptxas_sha256, const std::string& nvlink_sha256);

}  // namespace jali::audit

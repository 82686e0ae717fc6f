// PTX by assemblers and options: a row an assembler, a column an option string.
#pragma once

#include <string>
#include <vector>

#include "jali/audit_assemble.h"

namespace jali::cli {

// Whether any PTX was assembled in more than one way.
bool is_matrix(const std::vector<audit::Assembled>& assembled);

// Spill bytes, then what else differs: registers, and instructions weighted by loop depth.
std::string matrix_table(const std::vector<audit::Assembled>& assembled);

// What was done to the PTX for it to be taken, a line each.
std::string assembly_remarks(const std::vector<audit::Assembled>& assembled);

}  // namespace jali::cli

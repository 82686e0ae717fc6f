// Which architecture a cubin is for.
#pragma once

#include <string>

#include "audit/elf_image.h"
#include "audit/notes.h"

namespace jali::audit {

// "sm_90a": the number from e_flags, in either of their layouts; the suffix from the flags of CUDA 12, the .nv.compat
// section of CUDA 13, or the assembler's options. Throws FileError where the flags name no architecture.
std::string arch_of(const ElfImage& elf, const CubinNotes& notes);

}  // namespace jali::audit

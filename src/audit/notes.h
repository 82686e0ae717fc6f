// The notes of a cubin: which tool made it, with which options.
#pragma once

#include <cstdint>
#include <string>

#include "audit/elf_image.h"

namespace jali::audit {

struct CubinNotes {
    std::string tool;      // "ptxas"; empty where there is no note, as in most files from before CUDA 13
    std::string version;   // "13.0.88"
    std::string options;   // "-O3 -arch sm_90a"
    uint32_t toolkit = 0;  // 130 for CUDA 13.0; 0 unknown
};

// Of .note.nv.tkinfo and .note.nv.cuinfo; where several tools left a note, of the last. Throws FileError.
CubinNotes read_notes(const ElfImage& elf);

}  // namespace jali::audit

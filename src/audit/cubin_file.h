// A cubin taken apart: its functions with their code and what the assembler says of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "audit/elf_image.h"
#include "audit/notes.h"
#include "audit/nv_info.h"

namespace jali::audit {

// Code that is entered by a launch or a call. Where a whole program is assembled at once, a function that is called and
// not inlined is copied into the section of each kernel that calls it, as "$kernel$function".
struct CubinFunction {
    std::string_view name;
    uint32_t symbol = 0;
    bool is_entry = false;
    const ElfSection* section = nullptr;
    uint64_t begin = 0;             // bytes from the start of the section
    std::span<const uint8_t> code;  // an entry's without the functions copied behind it; with padding
    int64_t registers = 0, frame_bytes = 0, min_stack_bytes = 0;
    std::vector<size_t> copies;  // of an entry: indices of the functions copied into its section
};

class CubinFile {
   public:
    // `bytes` must outlive the file. Throws FileError.
    explicit CubinFile(std::span<const uint8_t> bytes);

    const ElfImage& elf() const { return elf_; }
    const CubinNotes& notes() const { return notes_; }
    const std::string& arch() const { return arch_; }  // "sm_90a"
    const std::vector<CubinFunction>& functions() const { return functions_; }
    // Of .nv.info.<kernel> for .text.<kernel>; all zero where there is none. Read at the first call for a section.
    const CodeInfo& info_of(const ElfSection& text);

   private:
    void read_functions();
    void read_facts();

    ElfImage elf_;
    size_t file_bytes_ = 0;
    CubinNotes notes_;
    std::string arch_;
    std::vector<CubinFunction> functions_;  // by section, then by begin
    std::unordered_map<const ElfSection*, CodeInfo> infos_;
};

}  // namespace jali::audit

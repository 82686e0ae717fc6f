// The assemblers in the user's cache: toolchains/<version>/{ptxas,nvlink,toolchain.json}.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "jali/audit_assemble.h"

namespace jali::audit {

std::filesystem::path toolchains_folder();
// What install_assembler() put there and still is what it was, as far as sizes and times of files say; newest first.
std::vector<Assembler> installed_assemblers();

inline constexpr const char* kToolchainRecord = "toolchain.json";

// One installation or removal at a time, across processes; waits for its turn.
class ToolchainsLock {
   public:
    // Makes the folder. `waiting` is called once where another has the lock. Throws FileError.
    explicit ToolchainsLock(const std::function<void()>& waiting = {});
    ~ToolchainsLock();
    ToolchainsLock(const ToolchainsLock&) = delete;
    ToolchainsLock& operator=(const ToolchainsLock&) = delete;

   private:
    int descriptor_ = -1;
};

}  // namespace jali::audit

// Assemblers and installers that are shell scripts, and the environment that leads to them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/temporary_folder.h"
#include "jali/audit_assemble.h"

namespace jali::audit {

// A variable of the environment as long as this lives.
class ScopedVariable {
   public:
    ScopedVariable(std::string name, const std::optional<std::string>& value);  // nothing: unset
    ~ScopedVariable();
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;

   private:
    std::string name_;
    std::optional<std::string> before_;
};

// An executable script of sh.
void write_script(const std::filesystem::path& path, const std::string& body);

// <folder>/ptxas that says it is `version`, takes PTX up to `ptx_version`, and otherwise runs `body`. Each assembly
// adds a line to <folder>/calls. `body` sees $output, the file that it must write.
void write_fake_ptxas(const std::filesystem::path& folder, const std::string& version, const std::string& ptx_version,
                      const std::string& body);
int calls_of(const std::filesystem::path& folder);

// The assembler in `folder`, as found there.
Assembler fake_assembler(const std::filesystem::path& folder);

// A zip file of stored members, as wheels are.
void write_wheel(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& members);

// Nothing of this machine: no assembler, a cache of its own.
class Isolated {
   public:
    Isolated();
    const std::filesystem::path& path() const { return folder_.path(); }
    std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
    // A folder that comes first in PATH.
    std::filesystem::path programs() const { return folder_ / "programs"; }

   private:
    test::TemporaryFolder folder_;
    ScopedVariable cache_, ptxas_, cuda_home_, cuda_path_, path_;
};

// Without /usr/local/cuda*, which nothing can hide.
std::vector<Assembler> assemblers_below(const std::filesystem::path& folder);

}  // namespace jali::audit

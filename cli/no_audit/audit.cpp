// `jali audit` of a build that has no audit library: says what to install.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "jali/error.h"

namespace jali::cli {

void add_audit_command(CLI::App& app, Command& chosen) {
    CLI::App& command = *app.add_subcommand("audit", "What a compiler did to CUDA kernels (not in this build)");
    command.allow_extras();
    command.callback([&chosen] {
        chosen = []() -> int {
            throw Error(
                "this build has no audit: install libelf-dev, libzstd-dev, liblz4-dev, libzip-dev, libpugixml-dev, "
                "libtomlplusplus-dev and libssl-dev, then configure and build again");
        };
    });
}

}  // namespace jali::cli

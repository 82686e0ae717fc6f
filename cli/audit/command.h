// The subcommands that read what compilers made; built where the audit library is.
#pragma once

#include "cli/command.h"

namespace jali::cli {

void add_toolchain_command(CLI::App& app, Command& chosen);

}  // namespace jali::cli

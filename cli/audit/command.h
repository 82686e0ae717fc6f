// The subcommands that read what compilers made; built where the audit library is.
#pragma once

#include "cli/command.h"

namespace jali::cli {

void add_toolchain_command(CLI::App& app, Command& chosen);

// Of `jali audit`.
void add_audit_diff_command(CLI::App& audit, Command& chosen);
void add_audit_check_command(CLI::App& audit, Command& chosen);
void add_audit_unpack_command(CLI::App& audit, Command& chosen);

}  // namespace jali::cli

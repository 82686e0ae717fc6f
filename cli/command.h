// The subcommands of `jali`, one file each. Each function adds its subcommand to `app`; when the command line chooses
// it, `chosen` becomes what runs it and returns the exit code.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace jali::cli {

using Command = std::function<int()>;

void add_mask_command(CLI::App& app, Command& chosen);
void add_run_command(CLI::App& app, Command& chosen);
void add_check_command(CLI::App& app, Command& chosen);
void add_bench_command(CLI::App& app, Command& chosen);
void add_info_command(CLI::App& app, Command& chosen);
void add_demo_command(CLI::App& app, Command& chosen);
void add_audit_command(CLI::App& app, Command& chosen);

}  // namespace jali::cli

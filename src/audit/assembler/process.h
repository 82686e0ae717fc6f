// Another program, run to its end or to the end of our patience.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace jali::audit {

struct ProcessCall {
    std::vector<std::string> arguments;                            // [0] is the program; looked for in PATH without '/'
    std::filesystem::path folder;                                  // to run in; empty: ours
    std::vector<std::pair<std::string, std::string>> environment;  // set on top of ours
    double timeout_seconds = 600;
    // Called about five times a second while it runs.
    std::function<void()> while_running;
};

struct ProcessResult {
    int exit_code = 0;
    int signal = 0;  // that ended it; 0: it ended itself
    bool timed_out = false;
    std::string output;  // standard output and error as they came, the first 16 MiB
    double milliseconds = 0;

    bool succeeded() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

// Runs the program with nothing on standard input, in a process group of its own. The whole group is killed past the
// time-out, when the program ends and leaves children, and when this process (or the calling thread) ends however it
// may. Throws Error where the program cannot be started.
ProcessResult run_process(const ProcessCall& call);

}  // namespace jali::audit

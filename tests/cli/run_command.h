// The built command, run as a user runs it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace jali::test {

struct Ran {
    int exit_code = -1;  // -1 where a signal ended it
    int signal = 0;
    std::string out, err;
};

// Runs `jali` with these arguments in `folder` and waits for it.
Ran run_jali(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".");
// The same with a terminal for standard error.
Ran run_jali_on_terminal(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".");
// Runs a line of sh in `folder`; `jali` in it is the built command.
Ran run_shell(const std::string& line, const std::filesystem::path& folder = ".");
// Starts `jali` with its output thrown away and does not wait.
pid_t start_jali(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

// The standard output as JSON, after a run that must have succeeded and said nothing else.
nlohmann::json json_of(const Ran& ran);

inline const std::string kMasksFile = std::string(JALI_TEST_DATA) + "/masks.json";

}  // namespace jali::test

#include "cli/run_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace jali::test {

namespace {

struct Ends {
    int read_end = -1, write_end = -1;
};

Ends make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    return {ends[0], ends[1]};
}

Ends make_terminal() {
    Ends ends;
    if (openpty(&ends.read_end, &ends.write_end, nullptr, nullptr, nullptr) != 0) std::abort();
    fcntl(ends.read_end, F_SETFD, FD_CLOEXEC);
    fcntl(ends.write_end, F_SETFD, FD_CLOEXEC);
    return ends;
}

// In the child: becomes the program.
[[noreturn]] void become(const std::vector<std::string>& program, const std::filesystem::path& folder, int out,
                         int err) {
    std::vector<char*> arguments;
    for (const std::string& argument : program) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    if (chdir(folder.c_str()) != 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(127);
    execv(arguments[0], arguments.data());
    _exit(127);
}

// Reads both until both are closed, so that neither fills up.
void read_both(int out, int err, Ran& ran) {
    std::array<pollfd, 2> sources = {pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
    std::array<std::string*, 2> texts = {&ran.out, &ran.err};
    for (int open = 2; open > 0;) {
        if (poll(sources.data(), 2, -1) < 0 && errno != EINTR) return;
        for (size_t i = 0; i < 2; ++i) {
            if (sources[i].fd < 0 || sources[i].revents == 0) continue;
            std::array<char, 1 << 14> buffer{};
            const ssize_t count = read(sources[i].fd, buffer.data(), buffer.size());
            if (count > 0) {
                texts[i]->append(buffer.data(), static_cast<size_t>(count));
            } else {
                close(sources[i].fd);
                sources[i].fd = -1;
                --open;
            }
        }
    }
}

Ran run(const std::vector<std::string>& program, const std::filesystem::path& folder, Ends err = make_pipe()) {
    const Ends out = make_pipe();
    const pid_t child = fork();
    if (child == 0) become(program, folder, out.write_end, err.write_end);
    close(out.write_end);
    close(err.write_end);
    Ran ran;
    read_both(out.read_end, err.read_end, ran);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ran.signal = WTERMSIG(status);
    return ran;
}

std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
    std::vector<std::string> program = {JALI_COMMAND};
    program.insert(program.end(), arguments.begin(), arguments.end());
    return program;
}

}  // namespace

Ran run_jali(const std::vector<std::string>& arguments, const std::filesystem::path& folder) {
    return run(with_program(arguments), folder);
}

Ran run_jali_on_terminal(const std::vector<std::string>& arguments, const std::filesystem::path& folder) {
    return run(with_program(arguments), folder, make_terminal());
}

Ran run_shell(const std::string& line, const std::filesystem::path& folder) {
    return run({"/bin/sh", "-c", "jali() { '" JALI_COMMAND "' \"$@\"; }\n" + line}, folder);
}

pid_t start_jali(const std::vector<std::string>& arguments, const std::filesystem::path& folder) {
    const std::vector<std::string> program = with_program(arguments);
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        become(program, folder, nowhere, nowhere);
    }
    return child;
}

nlohmann::json json_of(const Ran& ran) {
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    nlohmann::json json = nlohmann::json::parse(ran.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << ran.out;
    return json;
}

}  // namespace jali::test

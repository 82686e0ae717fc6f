#include "audit/assembler/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "jali/error.h"

namespace jali::audit {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kOutputLimit = size_t{16} << 20;
constexpr int kTickMilliseconds = 200;
constexpr int kExitPollMilliseconds = 5;

class Descriptor {
   public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int number() const { return number_; }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

   private:
    int number_ = -1;
};

[[noreturn]] void fail(const std::string& program, const char* what, int error) {
    throw Error("cannot " + std::string(what) + " '" + program + "': " + std::strerror(error));
}

std::array<int, 2> open_pipe(const std::string& program) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(program, "open a pipe for", errno);
    return ends;
}

std::vector<std::string> child_environment(const ProcessCall& call) {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        bool replaced = false;
        for (const auto& [name, value] : call.environment) {
            replaced = replaced || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
        }
        if (!replaced) variables.emplace_back(text);
    }
    for (const auto& [name, value] : call.environment) {
        variables.push_back(name);
        variables.back().append("=").append(value);
    }
    return variables;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
    result.push_back(nullptr);
    return result;
}

// What the child does between fork and exec. Everything is prepared before: other threads may hold any lock.
struct Launch {
    char* const* arguments;
    char* const* environment;
    const char* folder;  // null: stay
    int output;
    int failure;  // takes errno where there is no exec
    pid_t parent;
};

[[noreturn]] void become_program(const Launch& launch) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(launch.output, 1) >= 0 && dup2(launch.output, 2) >= 0 &&
        (launch.folder == nullptr || chdir(launch.folder) == 0)) {
        execvpe(launch.arguments[0], launch.arguments, launch.environment);
    }
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(launch.failure, &error, sizeof error);
    _exit(127);
}

void end_group(int /*signal*/) {
    kill(0, SIGKILL);
}

void restore(int signal) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
}

// All but the standard three. The guard runs no other program, so nothing closes by itself what it has from us: pipes
// of other threads' programs among them, whose readers wait for their end.
void close_inherited() {
    constexpr int kFirst = 3;
    if (close_range(kFirst, ~0U, 0) == 0) return;
    constexpr int kMost = 4096;  // a kernel before 5.9
    for (int descriptor = kFirst; descriptor < kMost; ++descriptor) close(descriptor);
}

// Between us and the program stands a guard, which leads its group, and ends as the program does. When we are killed,
// the guard hears of it and takes the group along: a program may be a script, whose children would live on.
[[noreturn]] void become_guard(const Launch& launch) {
    setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) restore(signal);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const pid_t program = fork();
    if (program == 0) become_program(launch);
    struct sigaction ending {};
    ending.sa_handler = end_group;
    sigaction(SIGTERM, &ending, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launch.parent) end_group(SIGTERM);
    if (program < 0) {
        const int error = errno;
        [[maybe_unused]] const ssize_t told = write(launch.failure, &error, sizeof error);
        _exit(127);
    }
    close_inherited();
    int status = 0;
    while (waitpid(program, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        const rlimit none_at_all{0, 0};
        setrlimit(RLIMIT_CORE, &none_at_all);
        restore(WTERMSIG(status));
        kill(getpid(), WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

// A started program; killed with its group when this ends.
class Child {
   public:
    explicit Child(pid_t process) : process_(process) {}
    ~Child() {
        kill_group();
        if (!ended_) waitpid(process_, &status_, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    // The group outlives its leader where children of it still run.
    void kill_group() const { ::kill(-process_, SIGKILL); }
    bool has_ended() {
        // WNOWAIT: the process stays a zombie, so that its group's number cannot be given to another.
        siginfo_t info{};
        return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid == process_;
    }
    // Waits for the end; waitpid's status.
    int status() {
        if (!ended_) waitpid(process_, &status_, 0);
        ended_ = true;
        return status_;
    }

   private:
    pid_t process_;
    int status_ = 0;
    bool ended_ = false;
};

// Reads what there is; false at the end of the stream.
bool read_some(int descriptor, std::string& output) {
    std::array<char, 65536> piece;
    const ssize_t count = read(descriptor, piece.data(), piece.size());
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    if (output.size() < kOutputLimit) {
        output.append(piece.data(), std::min(static_cast<size_t>(count), kOutputLimit - output.size()));
    }
    return count > 0;
}

int milliseconds_until(Clock::time_point when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
    return static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(left, kTickMilliseconds)));
}

void wait_for_end(Child& child, int output, const ProcessCall& call, ProcessResult& result, Clock::time_point start) {
    const auto end =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(call.timeout_seconds));
    Clock::time_point tick = start;
    bool open = true;
    while (true) {
        if (call.while_running && Clock::now() >= tick) {
            call.while_running();
            tick = Clock::now() + std::chrono::milliseconds(kTickMilliseconds);
        }
        // Its end is what counts, not the end of its output: a child left behind may hold that open.
        if (child.has_ended()) break;
        if (Clock::now() >= end) {
            result.timed_out = true;
            break;
        }
        pollfd events{output, POLLIN, 0};
        // A closed output says that the end is near, and does not say it itself.
        const int patience = open ? milliseconds_until(end) : kExitPollMilliseconds;
        const int ready = poll(&events, open ? 1 : 0, patience);
        if (ready > 0) open = read_some(output, result.output);
    }
    child.kill_group();
    while (open) {  // what was written before the end; all writers are gone, or stopped by the kill
        pollfd events{output, POLLIN, 0};
        if (poll(&events, 1, kTickMilliseconds) <= 0) break;
        open = read_some(output, result.output);
    }
}

}  // namespace

ProcessResult run_process(const ProcessCall& call) {
    const std::string& program = call.arguments.at(0);
    const std::array<int, 2> output = open_pipe(program);
    Descriptor output_read(output[0]);
    Descriptor output_write(output[1]);
    const std::array<int, 2> failure = open_pipe(program);
    Descriptor failure_read(failure[0]);
    Descriptor failure_write(failure[1]);

    const std::vector<std::string> environment = child_environment(call);
    const std::vector<char*> argument_pointers = pointers(call.arguments);
    const std::vector<char*> environment_pointers = pointers(environment);
    const Launch launch{
        argument_pointers.data(), environment_pointers.data(), call.folder.empty() ? nullptr : call.folder.c_str(),
        output_write.number(),    failure_write.number(),      getpid()};
    const Clock::time_point start = Clock::now();
    const pid_t process = fork();
    if (process < 0) fail(program, "start", errno);
    if (process == 0) become_guard(launch);
    setpgid(process, process);  // on both sides: whoever comes first
    Child child(process);
    output_write.close();
    failure_write.close();
    int error = 0;
    ssize_t told = 0;
    do {
        told = read(failure_read.number(), &error, sizeof error);
    } while (told < 0 && errno == EINTR);
    if (told == sizeof error) fail(program, "run", error);

    ProcessResult result;
    wait_for_end(child, output_read.number(), call, result, start);
    const int status = child.status();
    if (WIFSIGNALED(status)) {
        result.signal = WTERMSIG(status);
    } else {
        result.exit_code = WEXITSTATUS(status);
    }
    result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return result;
}

}  // namespace jali::audit

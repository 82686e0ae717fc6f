#include "cli/output_files.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include "io/atomic_file.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

std::mutex folders_mutex;
std::set<std::filesystem::path> folders;  // guarded by folders_mutex

// Of this process, by real_path(); commands handle their files in one thread.
std::set<std::filesystem::path> inputs, outputs;

std::filesystem::path real_path(const std::filesystem::path& path) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    const std::filesystem::path real = std::filesystem::weakly_canonical(absolute, error);
    return error ? absolute : real;
}

void remove_temporaries() {
    const std::lock_guard lock(folders_mutex);
    const std::string mark = fmt::format(".tmp-{}-", getpid());  // io::AtomicFile's names
    std::error_code error;                                       // nothing can be done about it on the way out
    for (const auto& folder : folders) {
        std::filesystem::directory_iterator entry(folder, error);
        for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
            if (entry->path().filename().string().find(mark) == std::string::npos) continue;
            std::error_code not_removed;
            std::filesystem::remove(entry->path(), not_removed);
        }
    }
}

}  // namespace

void note_input(const std::filesystem::path& path) {
    inputs.insert(real_path(path));
}

void require_writable(const std::filesystem::path& path) {
    const std::filesystem::path real = real_path(path);
    if (inputs.contains(real)) {
        throw FileError(fmt::format("'{}' is read here and cannot be written as well", path.string()));
    }
    const io::AtomicFile probe(path);
    if (std::filesystem::is_regular_file(real) || !std::filesystem::exists(real)) {
        if (!outputs.insert(real).second) {
            throw FileError(fmt::format("'{}' is named for two outputs", path.string()));
        }
    }
    const std::lock_guard lock(folders_mutex);
    folders.insert(real.parent_path());
}

void remove_temporaries_on_interrupt() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        // One that the caller had ignored (nohup) stays ignored.
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread([signals] {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) return;
        remove_temporaries();
        ::signal(signal, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
        raise(signal);
    }).detach();
}

}  // namespace jali::cli

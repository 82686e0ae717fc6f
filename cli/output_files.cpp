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

namespace jali::cli {

namespace {

std::mutex folders_mutex;
std::set<std::filesystem::path> folders;  // guarded by folders_mutex

void remove_temporaries() {
    const std::lock_guard lock(folders_mutex);
    const std::string mark = fmt::format(".tmp-{}-", getpid());  // io::AtomicFile's names
    std::error_code error;                                       // nothing can be done about it on the way out
    for (const auto& folder : folders) {
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
            if (entry.path().filename().string().find(mark) != std::string::npos) {
                std::filesystem::remove(entry.path(), error);
            }
        }
    }
}

}  // namespace

void require_writable(const std::filesystem::path& path) {
    const io::AtomicFile probe(path);
    std::error_code error;
    const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
    const std::lock_guard lock(folders_mutex);
    folders.insert((error ? path : real).parent_path());
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

#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace jali::cli {

namespace {

constexpr std::chrono::milliseconds kFirstShown{1000};
constexpr std::chrono::milliseconds kBetweenShows{100};
constexpr int kBarCells = 30;
constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

Progress::Progress(std::string label) : label_(std::move(label)), start_(std::chrono::steady_clock::now()) {
    if (isatty(STDERR_FILENO) == 1) watcher_ = std::thread([this] { watch(); });
}

Progress::~Progress() {
    if (!watcher_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        finished_ = true;
    }
    finished_signal_.notify_one();
    watcher_.join();
}

void Progress::relabel(std::string label) {
    const std::lock_guard lock(mutex_);
    label_ = std::move(label);
}

void Progress::watch() {
    std::unique_lock lock(mutex_);
    if (finished_signal_.wait_for(lock, kFirstShown, [this] { return finished_; })) return;
    do {
        show();
    } while (!finished_signal_.wait_for(lock, kBetweenShows, [this] { return finished_; }));
    fmt::print(stderr, "{}", kEraseLine);
    std::fflush(stderr);
}

void Progress::show() const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double fraction = fraction_.load(std::memory_order_relaxed);
    if (fraction < 0) {
        fmt::print(stderr, "{}{}  {:.1f} s", kEraseLine, label_, seconds);
    } else {
        const int done = std::clamp(static_cast<int>(fraction * kBarCells), 0, kBarCells);
        fmt::print(stderr, "{}{}  [{}{}] {:3.0f}%  {:.1f} s", kEraseLine, label_,
                   std::string(static_cast<size_t>(done), '#'), std::string(static_cast<size_t>(kBarCells - done), '.'),
                   100 * fraction, seconds);
    }
    std::fflush(stderr);
}

}  // namespace jali::cli

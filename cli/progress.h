// A line on standard error while something takes longer than a second.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace jali::cli {

// Shows the label, the time so far and, once the fraction is known, a bar. Only where standard error is a terminal;
// the line is erased at the end.
class Progress {
   public:
    explicit Progress(std::string label);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // The finished share in [0, 1]; any thread may call it.
    void advance(double fraction) { fraction_.store(fraction, std::memory_order_relaxed); }
    // Another label from now on; any thread may call it.
    void relabel(std::string label);

   private:
    void show() const;
    void watch();

    std::string label_;  // under mutex_
    std::chrono::steady_clock::time_point start_;
    std::atomic<double> fraction_{-1};
    std::mutex mutex_;
    std::condition_variable finished_signal_;
    bool finished_ = false;
    std::thread watcher_;
};

}  // namespace jali::cli

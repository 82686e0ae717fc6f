// The threads of one call.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace jali::cpu {

// The threads that a call asking for `wanted` gets: 0 takes JALI_THREADS or all processors; never more than `units`
// and at least 1. Throws Error where JALI_THREADS is no positive number.
int thread_count(int wanted, int64_t units);

// Runs work(0), ..., work(threads - 1) at once, the last on the caller's thread, and returns when all have. `work`
// must not throw, and must do everything also when fewer of its calls run: a thread that cannot start is left out.
void run_workers(int threads, const std::function<void(int)>& work);

// One allocation of float32 scratch, divided into the same arrays for each worker. Starts as NaN, so that a value
// read before it is written shows in the result.
class Scratch {
   public:
    Scratch(int workers, int64_t floats_each);
    float* of(int worker) { return lines_[static_cast<size_t>(worker * lines_each_)].floats; }

   private:
    struct alignas(64) Line {
        float floats[16];
    };
    int64_t lines_each_;
    std::vector<Line> lines_;
};

}  // namespace jali::cpu

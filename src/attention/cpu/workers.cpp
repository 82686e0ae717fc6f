#include "attention/cpu/workers.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <system_error>
#include <thread>

#include "jali/error.h"

namespace jali::cpu {

namespace {

int threads_by_default() {
    const char* text = std::getenv("JALI_THREADS");
    if (text == nullptr || *text == '\0') return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const std::string value(text);
    int threads = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), threads);
    if (error != std::errc() || end != value.data() + value.size() || threads < 1)
        throw Error("JALI_THREADS is \"" + value + "\" but must be a whole number from 1 on");
    return threads;
}

}  // namespace

int thread_count(int wanted, int64_t units) {
    const int threads = wanted > 0 ? wanted : threads_by_default();
    return static_cast<int>(std::clamp<int64_t>(units, 1, threads));
}

void run_workers(int threads, const std::function<void(int)>& work) {
    std::vector<std::thread> others;
    others.reserve(static_cast<size_t>(threads - 1));
    try {
        for (int worker = 0; worker + 1 < threads; ++worker) others.emplace_back(work, worker);
    } catch (const std::exception&) {
        // The machine has no more threads or memory to give: those that started share the work.
    }
    work(threads - 1);
    for (std::thread& other : others) other.join();
}

Scratch::Scratch(int workers, int64_t floats_each) : lines_each_((floats_each + 15) / 16) {
    Line poison;
    std::fill(std::begin(poison.floats), std::end(poison.floats), std::numeric_limits<float>::quiet_NaN());
    lines_.assign(static_cast<size_t>(workers * lines_each_), poison);
}

}  // namespace jali::cpu

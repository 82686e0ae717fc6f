// How long something takes.
#pragma once

#include <chrono>

namespace jali::cli {

template <class Work>
double milliseconds_of(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace jali::cli

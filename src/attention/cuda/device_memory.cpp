#include "attention/cuda/device_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attention/cuda/driver.h"
#include "jali/error.h"

namespace jali::cuda {

DeviceMemory::DeviceMemory(int64_t bytes, int device) : device_(device) {
    const CUresult result = driver().memory_allocate(&address_, static_cast<size_t>(std::max<int64_t>(16, bytes)));
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        size_t free = 0, all = 0;
        driver().memory_info(&free, &all);
        throw Error("device " + std::to_string(device) + " has " + std::to_string(free) + " of " + std::to_string(all) +
                    " bytes free; " + std::to_string(bytes) + " are needed");
    }
    check(result, "taking " + std::to_string(bytes) + " bytes of device " + std::to_string(device));
}

DeviceMemory::~DeviceMemory() {
    if (address_ == 0) return;
    const CurrentDevice current(device_);
    driver().memory_free(address_);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : address_(std::exchange(other.address_, 0)), device_(other.device_) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(device_, other.device_);
    return *this;
}

}  // namespace jali::cuda

// Device memory that frees itself.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace jali::cuda {

class DeviceMemory {
   public:
    DeviceMemory() = default;
    // Throws Error with the bytes wanted and free where the device has not enough. The device must be current.
    DeviceMemory(int64_t bytes, int device);
    ~DeviceMemory();
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;

    CUdeviceptr address() const { return address_; }
    void* pointer() const { return reinterpret_cast<void*>(address_); }

   private:
    CUdeviceptr address_ = 0;
    int device_ = 0;
};

}  // namespace jali::cuda

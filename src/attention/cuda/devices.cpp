#include "attention/cuda/driver.h"
#include "attention/cuda/kernels.h"
#include "jali/cuda.h"
#include "jali/error.h"

namespace jali::cuda {

std::vector<DeviceInfo> devices() {
    std::vector<DeviceInfo> found;
    const Driver* driver = find_driver();
    int count = 0;
    if (driver == nullptr || driver->device_get_count(&count) != CUDA_SUCCESS) return found;
    for (int i = 0; i < count; ++i) {
        DeviceInfo info{.index = i};
        CUdevice handle = 0;
        char name[256] = {};
        if (driver->device_get(&handle, i) == CUDA_SUCCESS) driver->device_get_name(name, sizeof name, handle);
        info.name = name;
        try {
            info.arch = arch_of(i);
            kernels_of(i);
        } catch (const Error& error) {
            info.problem = error.what();
        }
        found.push_back(info);
    }
    return found;
}

std::string driver_problem() {
    std::string why;
    const Driver* driver = find_driver(&why);
    int count = 0;
    if (driver != nullptr && (driver->device_get_count(&count) != CUDA_SUCCESS || count == 0))
        return "the NVIDIA driver shows no device";
    return why;
}

}  // namespace jali::cuda

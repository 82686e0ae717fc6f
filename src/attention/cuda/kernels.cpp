#include "attention/cuda/kernels.h"

#include <map>
#include <mutex>
#include <string>

#include "attention/cuda/driver.h"
#include "attention/cuda/kernel_images.h"
#include "jali/error.h"
#include "kernels/sm90/launch.h"

namespace jali::cuda {

namespace {

int attribute(int device, CUdevice_attribute which) {
    CUdevice handle = 0;
    check(driver().device_get(&handle, device), "finding device " + std::to_string(device));
    int value = 0;
    check(driver().device_get_attribute(&value, which, handle), "asking device " + std::to_string(device));
    return value;
}

CUmodule load(const unsigned char* image, const char* name) {
    CUmodule module = nullptr;
    check(driver().module_load_data(&module, image), std::string("loading the kernels of ") + name);
    return module;
}

CUfunction find(CUmodule module, const std::string& name, int shared_bytes) {
    CUfunction function = nullptr;
    check(driver().module_get_function(&function, module, name.c_str()), "finding " + name);
    if (shared_bytes > 0)
        check(driver().function_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes),
              "giving shared memory to " + name);
    return function;
}

Kernels find_all(CUmodule forward, CUmodule backward, const std::string& suffix) {
    return {.forward = find(forward, "jali_forward_" + suffix, sm90::kForwardSharedBytes),
            .backward = find(backward, "jali_backward_" + suffix, sm90::kBackwardSharedBytes),
            .backward_preprocess = find(backward, "jali_backward_preprocess_" + suffix, 0),
            .backward_convert = find(backward, "jali_backward_convert_" + suffix, 0),
            .forward_shared_bytes = sm90::kForwardSharedBytes,
            .backward_shared_bytes = sm90::kBackwardSharedBytes};
}

}  // namespace

std::string arch_of(int device) {
    return "sm_" + std::to_string(attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
           std::to_string(attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

const DeviceKernels& kernels_of(int device) {
    static std::mutex mutex;
    static std::map<int, DeviceKernels> loaded;
    const std::lock_guard lock(mutex);
    if (const auto found = loaded.find(device); found != loaded.end()) return found->second;
    const std::string arch = arch_of(device);
    if (arch != "sm_90")
        throw Error("device " + std::to_string(device) + " is " + arch + "; Jali has kernels for sm_90");
    const CurrentDevice current(device);
    const CUmodule forward = load(kForwardImage, "forward attention");
    const CUmodule backward = load(kBackwardImage, "backward attention");
    return loaded
        .emplace(device, DeviceKernels{.bfloat16 = find_all(forward, backward, "bf16_128"),
                                       .float16 = find_all(forward, backward, "fp16_128"),
                                       .multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)})
        .first->second;
}

}  // namespace jali::cuda

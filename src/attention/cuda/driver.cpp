#include "attention/cuda/driver.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "jali/error.h"

namespace jali::cuda {

namespace {

constexpr int kOldestDriver = 12000;  // CUDA 12.0: tensor maps

struct Opened {
    Driver driver{};
    bool usable = false;
    std::string why;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

// The first name that is missing; null where all are there.
const char* find_all(void* library, Driver& driver) {
#define JALI_FIND(member, name) \
    if (!find(library, name, driver.member)) return name
    JALI_FIND(init, "cuInit");
    JALI_FIND(driver_get_version, "cuDriverGetVersion");
    JALI_FIND(get_error_string, "cuGetErrorString");
    JALI_FIND(device_get, "cuDeviceGet");
    JALI_FIND(device_get_count, "cuDeviceGetCount");
    JALI_FIND(device_get_name, "cuDeviceGetName");
    JALI_FIND(device_get_attribute, "cuDeviceGetAttribute");
    JALI_FIND(primary_context_retain, "cuDevicePrimaryCtxRetain");
    JALI_FIND(context_push, "cuCtxPushCurrent_v2");
    JALI_FIND(context_pop, "cuCtxPopCurrent_v2");
    JALI_FIND(module_load_data, "cuModuleLoadData");
    JALI_FIND(module_get_function, "cuModuleGetFunction");
    JALI_FIND(function_set_attribute, "cuFuncSetAttribute");
    JALI_FIND(launch_kernel, "cuLaunchKernel");
    JALI_FIND(memory_allocate, "cuMemAlloc_v2");
    JALI_FIND(memory_free, "cuMemFree_v2");
    JALI_FIND(memory_info, "cuMemGetInfo_v2");
    JALI_FIND(copy_to_device, "cuMemcpyHtoDAsync_v2");
    JALI_FIND(copy_to_host, "cuMemcpyDtoHAsync_v2");
    JALI_FIND(set_words, "cuMemsetD32Async");
    JALI_FIND(stream_create, "cuStreamCreate");
    JALI_FIND(stream_destroy, "cuStreamDestroy_v2");
    JALI_FIND(stream_synchronize, "cuStreamSynchronize");
    JALI_FIND(event_create, "cuEventCreate");
    JALI_FIND(event_destroy, "cuEventDestroy_v2");
    JALI_FIND(event_record, "cuEventRecord");
    JALI_FIND(event_elapsed, "cuEventElapsedTime");
    JALI_FIND(tensor_map_encode, "cuTensorMapEncodeTiled");
#undef JALI_FIND
    return nullptr;
}

Opened open_driver() {
    Opened opened;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        opened.why = "there is no NVIDIA driver on this machine (libcuda.so.1 does not open)";
        return opened;
    }
    int version = 0;
    if (find(library, "cuDriverGetVersion", opened.driver.driver_get_version) &&
        opened.driver.driver_get_version(&version) == CUDA_SUCCESS && version < kOldestDriver) {
        opened.why = "the NVIDIA driver serves CUDA " + std::to_string(version / 1000) + "." +
                     std::to_string(version % 1000 / 10) + "; Jali needs 12.0";
        return opened;
    }
    if (const char* missing = find_all(library, opened.driver)) {
        opened.why = std::string("the NVIDIA driver has no ") + missing;
        return opened;
    }
    if (const CUresult result = opened.driver.init(0); result != CUDA_SUCCESS) {
        const char* text = nullptr;
        opened.driver.get_error_string(result, &text);
        opened.why = std::string("the NVIDIA driver does not start: ") + (text != nullptr ? text : "unknown error");
        return opened;
    }
    opened.usable = true;
    return opened;
}

const Opened& opened_driver() {
    static const Opened opened = open_driver();
    return opened;
}

CUcontext primary_context(int device) {
    static std::mutex mutex;
    static std::map<int, CUcontext> contexts;  // retained for the life of the process
    const std::lock_guard lock(mutex);
    CUcontext& context = contexts[device];
    if (context == nullptr) {
        CUdevice handle = 0;
        check(driver().device_get(&handle, device), "finding device " + std::to_string(device));
        check(driver().primary_context_retain(&context, handle), "opening device " + std::to_string(device));
    }
    return context;
}

}  // namespace

const Driver* find_driver(std::string* why) {
    const Opened& opened = opened_driver();
    if (why != nullptr) *why = opened.why;
    return opened.usable ? &opened.driver : nullptr;
}

const Driver& driver() {
    const Opened& opened = opened_driver();
    if (!opened.usable) throw Error(opened.why);
    return opened.driver;
}

void check(CUresult result, std::string_view doing) {
    if (result == CUDA_SUCCESS) return;
    const char* text = nullptr;
    driver().get_error_string(result, &text);
    throw Error(std::string(doing) + ": " + (text != nullptr ? text : "error " + std::to_string(result)));
}

CurrentDevice::CurrentDevice(int device) {
    check(driver().context_push(primary_context(device)), "entering device " + std::to_string(device));
}

CurrentDevice::~CurrentDevice() {
    CUcontext popped = nullptr;
    driver().context_pop(&popped);
}

}  // namespace jali::cuda

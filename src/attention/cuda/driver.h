// The CUDA driver, opened at run time.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

namespace jali::cuda {

// The driver's functions that Jali calls; cuda.h maps each name to its newest version, and so do we.
struct Driver {
    CUresult (*init)(unsigned);
    CUresult (*driver_get_version)(int*);
    CUresult (*get_error_string)(CUresult, const char**);
    CUresult (*device_get)(CUdevice*, int);
    CUresult (*device_get_count)(int*);
    CUresult (*device_get_name)(char*, int, CUdevice);
    CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice);
    CUresult (*primary_context_retain)(CUcontext*, CUdevice);
    CUresult (*context_push)(CUcontext);
    CUresult (*context_pop)(CUcontext*);
    CUresult (*module_load_data)(CUmodule*, const void*);
    CUresult (*module_get_function)(CUfunction*, CUmodule, const char*);
    CUresult (*function_set_attribute)(CUfunction, CUfunction_attribute, int);
    CUresult (*launch_kernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              CUstream, void**, void**);
    CUresult (*memory_allocate)(CUdeviceptr*, size_t);
    CUresult (*memory_free)(CUdeviceptr);
    CUresult (*memory_info)(size_t*, size_t*);
    CUresult (*copy_to_device)(CUdeviceptr, const void*, size_t, CUstream);
    CUresult (*copy_to_host)(void*, CUdeviceptr, size_t, CUstream);
    CUresult (*set_words)(CUdeviceptr, unsigned, size_t, CUstream);
    CUresult (*stream_create)(CUstream*, unsigned);
    CUresult (*stream_destroy)(CUstream);
    CUresult (*stream_synchronize)(CUstream);
    CUresult (*event_create)(CUevent*, unsigned);
    CUresult (*event_destroy)(CUevent);
    CUresult (*event_record)(CUevent, CUstream);
    CUresult (*event_elapsed)(float*, CUevent, CUevent);
    CUresult (*tensor_map_encode)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                  const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                  CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
};

// Null where there is none that can be used; `why` then says it in one sentence. Opened once.
const Driver* find_driver(std::string* why = nullptr);
// Throws Error where there is none.
const Driver& driver();

// Throws Error ("launching jali_forward_bf16_128: an illegal memory access was encountered") unless `result` is
// success.
void check(CUresult result, std::string_view doing);

// Makes the primary context of a device current while it lives.
class CurrentDevice {
   public:
    explicit CurrentDevice(int device);
    ~CurrentDevice();
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;
};

}  // namespace jali::cuda

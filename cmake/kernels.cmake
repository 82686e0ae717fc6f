# The GPU kernels: kernels/sm90/<name>.cu -> a cubin, embedded in libjali as jali_image_sm90_<name>. Where no CUDA
# compiler is found, the build leaves the GPU engine out and says so.
option(JALI_BUILD_CUDA "Build the GPU engine where a CUDA compiler is found" ON)
if(JALI_BUILD_CUDA)
    find_program(JALI_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
    find_path(JALI_CUDA_INCLUDE_DIR cuda.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include
              /usr/local/cuda/targets/x86_64-linux/include)
endif()
if(NOT JALI_BUILD_CUDA OR NOT JALI_NVCC OR NOT JALI_CUDA_INCLUDE_DIR)
    message(STATUS "No CUDA compiler: libjali is built without the GPU engine")
    set(JALI_HAS_CUDA FALSE)
    return()
endif()
set(JALI_HAS_CUDA TRUE)

file(GLOB JALI_KERNEL_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.h ${PROJECT_SOURCE_DIR}/kernels/*.cuh
     ${PROJECT_SOURCE_DIR}/kernels/sm90/*.h ${PROJECT_SOURCE_DIR}/kernels/sm90/*.cuh)
file(GLOB JALI_KERNEL_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/sm90/*.cu)
set(JALI_CUBIN_DIR ${PROJECT_BINARY_DIR}/kernels)
file(MAKE_DIRECTORY ${JALI_CUBIN_DIR})
set(JALI_IMAGE_SOURCES)
set(JALI_CUBINS)
foreach(source IN LISTS JALI_KERNEL_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    set(cubin ${JALI_CUBIN_DIR}/sm90_${name}.cubin)
    add_custom_command(
        OUTPUT ${cubin}
        COMMAND ${JALI_NVCC} -std=c++20 -gencode=arch=compute_90a,code=sm_90a -I${PROJECT_SOURCE_DIR} -cubin -Xptxas
                --suppress-stack-size-warning -o ${cubin} ${source}
        DEPENDS ${source} ${JALI_KERNEL_HEADERS}
        COMMENT "Compiling ${name} for sm_90a"
        VERBATIM)
    set(image ${JALI_CUBIN_DIR}/sm90_${name}_image.cpp)
    set(symbol jali_image_sm90_${name})
    file(GENERATE OUTPUT ${image} CONTENT
"asm(R\"(.section .rodata
.balign 16
.global ${symbol}
${symbol}:
.incbin \"${cubin}\"
.previous)\");
")
    set_source_files_properties(${image} PROPERTIES OBJECT_DEPENDS ${cubin} GENERATED TRUE)
    list(APPEND JALI_IMAGE_SOURCES ${image})
    list(APPEND JALI_CUBINS ${cubin})
endforeach()

# libjali. Each folder of src/ is one layer; a layer's tests link that layer and those below it and nothing above, so
# that a dependency pointing upwards does not link.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(fmt 8 REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)

set(jali_layers io mask block_mask attention)

# src/<layer> -> object library jali_<layer>
function(jali_add_layer layer)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp)
    if(layer STREQUAL "attention")
        if(JALI_HAS_CUDA)
            list(FILTER sources EXCLUDE REGEX "/no_cuda/")
            list(APPEND sources ${JALI_IMAGE_SOURCES})
        else()
            list(FILTER sources EXCLUDE REGEX "/cuda/")
        endif()
    endif()
    if(NOT sources)
        return()
    endif()
    add_library(jali_${layer} OBJECT ${sources})
    set_target_properties(jali_${layer} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(jali_${layer} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_include_directories(jali_${layer} SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
    target_compile_definitions(jali_${layer} PRIVATE XXH_INLINE_ALL=)
    if(layer STREQUAL "attention" AND JALI_HAS_CUDA)
        # cuda.h, and kernels/ for what host and device share.
        target_include_directories(jali_${layer} SYSTEM PRIVATE ${JALI_CUDA_INCLUDE_DIR})
        target_include_directories(jali_${layer} PRIVATE ${PROJECT_SOURCE_DIR})
    endif()
    target_link_libraries(jali_${layer} PRIVATE jali_compile fmt::fmt-header-only nlohmann_json::nlohmann_json
                                                Threads::Threads)
endfunction()

add_library(jali)
foreach(layer IN LISTS jali_layers)
    jali_add_layer(${layer})
    if(TARGET jali_${layer})
        target_sources(jali PRIVATE $<TARGET_OBJECTS:jali_${layer}>)
    endif()
endforeach()
add_library(jali::jali ALIAS jali)
set_target_properties(jali PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(jali PUBLIC cxx_std_20)
target_include_directories(jali PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(jali PUBLIC Threads::Threads PRIVATE ${CMAKE_DL_LIBS})

include(cmake/cpu_engine.cmake)

# For the targets of this tree that also look behind the public headers: the command, tests, benchmarks, fuzzers.
add_library(jali_private INTERFACE)
target_include_directories(jali_private INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_include_directories(jali_private SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_compile_definitions(jali_private INTERFACE XXH_INLINE_ALL=)
target_link_libraries(jali_private INTERFACE jali_compile fmt::fmt-header-only nlohmann_json::nlohmann_json
                                             Threads::Threads)

# How every file of ours is compiled: warnings and sanitizers. Nothing here reaches a project that uses jali::jali.
add_library(jali_compile INTERFACE)
target_compile_options(jali_compile INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
# Designated initializers leave out what they mean to leave out.
target_compile_options(jali_compile INTERFACE -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports "text" + std::string as an overlapping copy (GCC bug 105651), and the empty state of a
    # std::optional as uninitialised (GCC bug 80635); clang's own warning about uninitialised values is on.
    target_compile_options(jali_compile INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(JALI_WARNINGS_AS_ERRORS)
    target_compile_options(jali_compile INTERFACE -Werror)
endif()

if(JALI_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "The fuzzers need clang's libFuzzer but the compiler is ${CMAKE_CXX_COMPILER_ID}")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(JALI_SANITIZE)
    add_compile_options(-fsanitize=${JALI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
    add_link_options(-fsanitize=${JALI_SANITIZE})
endif()

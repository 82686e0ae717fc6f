# libjali_audit: what a compiler did to kernels. It stands alone, over src/io, and is left out where a library that it
# needs is not installed.
option(JALI_BUILD_AUDIT "Build the audit library and `jali audit`" ON)
if(NOT JALI_BUILD_AUDIT)
    return()
endif()
find_package(PkgConfig)
set(jali_audit_missing)
foreach(module libelf libzstd liblz4 libzip pugixml tomlplusplus)
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(JALI_${module} QUIET IMPORTED_TARGET ${module})
    endif()
    if(NOT TARGET PkgConfig::JALI_${module})
        list(APPEND jali_audit_missing ${module})
    endif()
endforeach()
find_package(OpenSSL COMPONENTS Crypto)
if(NOT OpenSSL_FOUND)
    list(APPEND jali_audit_missing openssl)
endif()
# The demangler of GNU's binutils, a static library without a pkg-config file.
find_library(JALI_LIBIBERTY iberty)
find_path(JALI_LIBIBERTY_INCLUDE libiberty/demangle.h)
if(NOT JALI_LIBIBERTY OR NOT JALI_LIBIBERTY_INCLUDE)
    list(APPEND jali_audit_missing libiberty)
endif()
if(jali_audit_missing)
    message(STATUS "Not installed: ${jali_audit_missing}; no audit library, no `jali audit`")
    return()
endif()

file(GLOB_RECURSE audit_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/audit/*.cpp)
add_library(jali_audit ${audit_sources})
add_library(jali::audit ALIAS jali_audit)
set_target_properties(jali_audit PROPERTIES EXPORT_NAME audit POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION}
                                            SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_definitions(jali_audit PRIVATE JALI_VERSION="${PROJECT_VERSION}")
target_link_libraries(jali_audit PUBLIC jali
                      PRIVATE $<BUILD_INTERFACE:jali_private> PkgConfig::JALI_libelf PkgConfig::JALI_libzstd
                              PkgConfig::JALI_liblz4 PkgConfig::JALI_libzip PkgConfig::JALI_pugixml
                              PkgConfig::JALI_tomlplusplus OpenSSL::Crypto iberty)

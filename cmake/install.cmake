# find_package(jali) gives jali::jali, and jali::audit where it was built and is asked for: find_package(jali COMPONENTS
# audit).
include(CMakePackageConfigHelpers)
set(jali_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/jali)
install(TARGETS jali EXPORT jaliTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/jali DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT jaliTargets NAMESPACE jali:: DESTINATION ${jali_package_dir})
if(TARGET jali_audit)
    install(TARGETS jali_audit EXPORT jaliAuditTargets)
    install(EXPORT jaliAuditTargets NAMESPACE jali:: DESTINATION ${jali_package_dir})
endif()
if(TARGET jali_command)
    install(TARGETS jali_command)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/jaliConfig.cmake.in ${PROJECT_BINARY_DIR}/jaliConfig.cmake
                              INSTALL_DESTINATION ${jali_package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/jaliConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/jaliConfig.cmake ${PROJECT_BINARY_DIR}/jaliConfigVersion.cmake
        DESTINATION ${jali_package_dir})

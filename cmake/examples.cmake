# examples/<name>.cpp -> executable <build>/examples/<name>, seeing the public headers only; run as fast tests.
file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
set(packed_text_arguments ${PROJECT_SOURCE_DIR}/LICENSE)
foreach(source IN LISTS example_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
                                                     RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_link_libraries(example_${name} PRIVATE jali::jali jali_compile)
    add_test(NAME examples.${name} COMMAND example_${name} ${${name}_arguments})
    set_tests_properties(examples.${name} PROPERTIES LABELS fast TIMEOUT 300)
endforeach()

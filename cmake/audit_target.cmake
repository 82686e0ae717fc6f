# `cmake --build BUILD --target audit`: every GPU kernel of the project, as it is embedded and by every assembler that is
# on the machine, held to the committed budgets; and the test kernels, which are there without a CUDA compiler too.
if(NOT TARGET jali_command OR NOT TARGET jali_audit)
    return()
endif()
set(audit_check $<TARGET_FILE:jali_command> audit check)
set(audit_commands COMMAND ${audit_check} ${PROJECT_SOURCE_DIR}/tests/data/audit/kinds.sm_90a.cubin --budget
                           ${PROJECT_SOURCE_DIR}/tests/data/audit/audit.toml)
set(audit_inputs jali_command)
if(JALI_HAS_CUDA)
    set(audit_ptx)
    foreach(source IN LISTS JALI_KERNEL_SOURCES)
        get_filename_component(name ${source} NAME_WE)
        set(ptx ${JALI_CUBIN_DIR}/ptx/sm90_${name}.ptx)
        add_custom_command(
            OUTPUT ${ptx}
            COMMAND ${JALI_NVCC} -std=c++20 -arch=compute_90a -ptx -I${PROJECT_SOURCE_DIR} -o ${ptx} ${source}
            DEPENDS ${source} ${JALI_KERNEL_HEADERS}
            COMMENT "Compiling ${name} to PTX"
            VERBATIM)
        list(APPEND audit_ptx ${ptx})
    endforeach()
    file(MAKE_DIRECTORY ${JALI_CUBIN_DIR}/ptx)
    set(kernel_budget ${PROJECT_SOURCE_DIR}/kernels/audit.toml)
    list(APPEND audit_commands COMMAND ${audit_check} ${JALI_CUBINS} --budget ${kernel_budget})
    list(APPEND audit_commands COMMAND ${audit_check} ${audit_ptx} --ptxas all --budget ${kernel_budget})
    list(APPEND audit_commands COMMAND ${audit_check} ${PROJECT_SOURCE_DIR}/tests/data/audit/kinds.ptx --ptxas all
                                       --budget ${PROJECT_SOURCE_DIR}/tests/data/audit/audit.toml)
    list(APPEND audit_inputs ${audit_ptx} ${JALI_CUBINS})
endif()
add_custom_target(audit ${audit_commands} DEPENDS ${audit_inputs} COMMENT "Auditing every kernel of the project" VERBATIM)

# Compile options of the attention sources; included where the library's sources are listed.
#
# The reference and the naive yardstick round every operation; the CPU engine fuses products where its source says so.
# Each primitives_<set>.cpp is compiled for its instruction set and used only on processors that have it; without its
# options it compiles to nothing. The primitives are optimised in every build type: tests of a debug or sanitizer build
# would take minutes otherwise.
include(CheckCXXCompilerFlag)

set(JALI_ATTENTION_DIR "${CMAKE_CURRENT_LIST_DIR}/../src/attention")
file(GLOB JALI_UNFUSED_SOURCES CONFIGURE_DEPENDS "${JALI_ATTENTION_DIR}/*.cpp" "${JALI_ATTENTION_DIR}/reference/*.cpp"
     "${JALI_ATTENTION_DIR}/cpu/*.cpp")
set_source_files_properties(${JALI_UNFUSED_SOURCES} PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")

set_source_files_properties("${JALI_ATTENTION_DIR}/cpu/primitives_portable.cpp"
                            PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-O3")
set(JALI_AVX2_OPTIONS "-mavx2;-mfma;-mf16c")
set(JALI_AVX512_OPTIONS "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mf16c;-mprefer-vector-width=512")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties("${JALI_ATTENTION_DIR}/cpu/primitives_avx2.cpp"
                                PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-O3;${JALI_AVX2_OPTIONS}")
    set_source_files_properties("${JALI_ATTENTION_DIR}/cpu/primitives_avx512.cpp"
                                PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-O3;${JALI_AVX512_OPTIONS}")
endif()

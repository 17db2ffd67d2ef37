# How every target of the project is built: one pinned LLVM, static linking, warnings as errors.

# Debian ships 22.1 in both supported releases; a bare "22" is refused by LLVM's version file.
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${LLVM_CMAKE_DIR} ${MLIR_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# AddLLVM registers its own targets' output folders only; ours are set in the top file.

# For mlir-tblgen, which takes the directory's include path.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/lib)

set(TT_LLVM_LIBDIR ${LLVM_LIBRARY_DIR})

# All static libraries of LLVM and MLIR that a compiler executable may need. The linker takes what is
# referenced (lld searches archives in any order). MLIR's imported targets would pull in the shared
# libLLVM, which must never share a process with TensorFlow's; hence the archives by path.
file(GLOB TT_MLIR_ARCHIVES ${TT_LLVM_LIBDIR}/libMLIR*.a)
file(GLOB TT_LLVM_ARCHIVES ${TT_LLVM_LIBDIR}/libLLVM*.a)
list(FILTER TT_MLIR_ARCHIVES EXCLUDE REGEX "CAPI|Bindings|Test|Tblgen|TableGen")
list(FILTER TT_LLVM_ARCHIVES EXCLUDE REGEX "Exegesis|MCJIT|TableGen")
add_library(tt_llvm_support INTERFACE)
target_include_directories(tt_llvm_support SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(tt_llvm_support INTERFACE
  ${TT_LLVM_LIBDIR}/libLLVMSupport.a ${TT_LLVM_LIBDIR}/libLLVMDemangle.a z zstd pthread dl)
add_library(tt_mlir INTERFACE)
target_include_directories(tt_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_link_libraries(tt_mlir INTERFACE ${TT_MLIR_ARCHIVES} ${TT_LLVM_ARCHIVES} z zstd pthread dl)

add_library(tt_flags INTERFACE)
target_compile_options(tt_flags INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter
  -fno-semantic-interposition -ffunction-sections -fdata-sections)
target_compile_definitions(tt_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_include_directories(tt_flags INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/lib)
target_link_options(tt_flags INTERFACE -fuse-ld=lld -Wl,--gc-sections -Wl,--exclude-libs,ALL)

# tt_library(NAME SOURCES a.cpp ... LINK TTOther ... [FAST])
# A static library that never sees an MLIR header. FAST asks for -O3 (arithmetic and simulation).
function(tt_library name)
  cmake_parse_arguments(ARG "FAST" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tt_flags ${ARG_LINK})
  if(ARG_FAST)
    target_compile_options(${name} PRIVATE -O3)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# One precompiled header with MLIR's core headers for every MLIR library.
add_library(tt_pch OBJECT ${CMAKE_CURRENT_LIST_DIR}/MlirPch.cpp)
target_link_libraries(tt_pch PUBLIC tt_flags tt_mlir)
target_precompile_headers(tt_pch PRIVATE ${CMAKE_CURRENT_LIST_DIR}/MlirPch.h)
# ccache needs a header whose bytes do not depend on the clock.
target_compile_options(tt_pch PRIVATE -Xclang -fno-pch-timestamp)

# tt_mlir_library(NAME SOURCES ... LINK ... [DEPENDS tablegen targets])
function(tt_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tt_flags tt_mlir ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM tt_pch)
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# tt_tool(NAME SOURCES ... LINK ...): an executable in build/bin.
function(tt_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tt_flags ${ARG_LINK})
endfunction()

# tt_unit_test(NAME SOURCES ... LINK ...): a GoogleTest executable registered with ctest.
function(tt_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tt_flags ${ARG_LINK} GTest::gtest GTest::gtest_main)
  add_test(NAME unit.${name} COMMAND ${name})
endfunction()

# The one place that knows LLVM's version. A bump is a commit of its own.
#
# Only the shared libraries MLIR and LLVM are linked: they export
# registerAllDialects and every pattern that lower/ uses, and a static
# component beside them would register the same options twice.

set(TLM_LLVM_MAJOR 22)

find_package(MLIR REQUIRED CONFIG
  HINTS /usr/lib/llvm-${TLM_LLVM_MAJOR}/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL TLM_LLVM_MAJOR)
  message(FATAL_ERROR
    "found LLVM ${LLVM_PACKAGE_VERSION}, wanted ${TLM_LLVM_MAJOR}; hint: run scripts/install")
endif()
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_INSTALL_PREFIX}")

# tlm_mlir_library(name SOURCES a.cpp ... LINKS lib ...)
# A tlm_library whose sources use MLIR. LLVM stays a detail of it: the include
# folders are private, so its headers must not name LLVM.
function(tlm_mlir_library name)
  tlm_library(${name} ${ARGN})
  target_include_directories(${name} SYSTEM PRIVATE
    ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  separate_arguments(definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_options(${name} PRIVATE ${definitions})
  target_link_libraries(${name} PUBLIC MLIR LLVM)
endfunction()

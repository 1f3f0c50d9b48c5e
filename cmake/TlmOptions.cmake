# Options, printed as a table at configure.
option(TLM_MLIR "Build lower/, driver/ and the tools (needs MLIR 22)" ON)
option(TLM_TESTS "Build the tests" ON)
option(TLM_FUZZ "Build the fuzz targets (needs clang)" OFF)
option(TLM_WERROR "Warnings are errors" OFF)
option(TLM_CCACHE "Compile through ccache when there is one" ON)
set(TLM_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined")

# The deprecated function is inside libstdc++ 12's stable_sort.
add_compile_options(-Wall -Wextra -Werror=return-type
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
if(TLM_WERROR)
  add_compile_options(-Werror)
endif()
if(TLM_SANITIZE)
  add_compile_options(-fsanitize=${TLM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TLM_SANITIZE})
endif()
if(TLM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

find_program(TLM_CCACHE_PROGRAM ccache)
if(TLM_CCACHE AND TLM_CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${TLM_CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TLM_CCACHE_PROGRAM})
endif()

foreach(option TLM_MLIR TLM_TESTS TLM_FUZZ TLM_WERROR TLM_CCACHE TLM_SANITIZE CMAKE_BUILD_TYPE)
  message(STATUS "${option} = ${${option}}")
endforeach()

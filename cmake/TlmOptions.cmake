# Options, printed as a table at configure.
option(TLM_MLIR "Build lower/, driver/ and the tools (needs MLIR 22)" ON)
option(TLM_TESTS "Build the tests" ON)
set(TLM_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined")

add_compile_options(-Wall -Wextra -Werror=return-type)
if(TLM_SANITIZE)
  add_compile_options(-fsanitize=${TLM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TLM_SANITIZE})
endif()

foreach(option TLM_MLIR TLM_TESTS TLM_SANITIZE CMAKE_BUILD_TYPE)
  message(STATUS "${option} = ${${option}}")
endforeach()

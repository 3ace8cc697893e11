# cmake -DNESTSMITH=… -DSOURCE=… -DBUILD=… -P use_the_cu.cmake
# Builds examples/use_the_cu as a user would, and runs its programs, one in C and one in C++. Each program links two
# emitted files.

find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
if(NOT nvcc)
  message(NOTICE "use.the_cu: Skipped\nneeds nvcc, which is neither on PATH nor in /usr/local/cuda/bin")
  return()
endif()

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDERR COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Runs a program of the example, and expects that its output matches a regular expression.
function(prints program expected)
  execute_process(COMMAND ${folder}/${program} OUTPUT_VARIABLE printed RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT printed MATCHES "^${expected}$")
    message(FATAL_ERROR "${program} ended with ${result} and printed\n${printed}expected\n${expected}")
  endif()
endfunction()

set(folder ${BUILD}/tests/use/the_cu)
set(warnings "-Wall -Wextra -Werror")
step(${CMAKE_COMMAND} -S ${SOURCE}/examples/use_the_cu -B ${folder} -G Ninja -DNESTSMITH=${NESTSMITH}
  -DCMAKE_CUDA_COMPILER=${nvcc} -DCMAKE_C_FLAGS=${warnings} -DCMAKE_CXX_FLAGS=${warnings}
  -DCMAKE_CUDA_FLAGS=-Werror=all-warnings)
step(${CMAKE_COMMAND} --build ${folder})
set(computed "no device: nothing was computed|C\\[7\\]\\[11\\] = 20, beyond it -1, relu\\(C\\[0\\]\\[11\\] \\+ 1\\) = 21")
prints(from_c "product: ldc, the leading dimension of C, must be at least N
product: A must not be null
product: N must be a multiple of 4
(${computed})
")
prints(from_cpp "relu of 1000 elements takes 4000 bytes of workspace
relu: N must be from 0 to 1073741824
")

# cmake -DMODE=installed|subdirectory -DSOURCE=… -DBUILD=… -DLLVM=… -P use_nestsmith.cmake
# Builds examples/my_schedule.cpp as a user would, and runs it. The folders are kept, so that a second
# run compiles only what changed.

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDERR COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(folder ${BUILD}/tests/use/${MODE})
set(arguments -G Ninja -DCMAKE_BUILD_TYPE=None -DNESTSMITH_LLVM_DIR=${LLVM}
  -DEXAMPLE=${SOURCE}/examples/my_schedule.cpp)
if(MODE STREQUAL installed)
  file(REMOVE_RECURSE ${folder}/prefix)
  step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}/prefix)
  list(APPEND arguments -DCMAKE_PREFIX_PATH=${folder}/prefix)
else()
  list(APPEND arguments -DNESTSMITH_SOURCE=${SOURCE})
endif()
step(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B ${folder}/build ${arguments})
if(MODE STREQUAL subdirectory) # all of nestsmith again would take minutes: what it links is what is installed
  step(${CMAKE_COMMAND} --build ${folder}/build --target my_schedule_compiles)
else()
  step(${CMAKE_COMMAND} --build ${folder}/build --target my_schedule)
  step(${folder}/build/my_schedule list)
endif()

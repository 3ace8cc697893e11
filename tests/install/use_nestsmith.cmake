# cmake -DMODE=installed|subdirectory -DSOURCE=… -DBUILD=… -DLLVM=14 -DLLVM_DIR=… -DCOMPILER=… -DFLAGS=… -P use_nestsmith.cmake
# Builds examples/my_schedule.cpp in a project of a user, in C++ only. With MODE=installed, it installs nestsmith,
# builds the program and runs it. With MODE=subdirectory, it only compiles the program.

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDERR COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output
    ECHO_OUTPUT_VARIABLE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# expect(REGEX...): expects that the output of the last step matches each regular expression.
function(expect)
  foreach(regex ${ARGN})
    if(NOT output MATCHES "${regex}")
      message(FATAL_ERROR "this does not match '${regex}': ${output}")
    endif()
  endforeach()
endfunction()

set(folder ${BUILD}/tests/use/${MODE})
set(arguments -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
  -DEXAMPLE=${SOURCE}/examples/my_schedule.cpp -DLLVM=${LLVM})
file(REMOVE_RECURSE ${folder})
if(MODE STREQUAL installed)
  # The installed package must work after a move, and from a folder whose name has a space.
  step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}/prefix)
  set(prefix "${folder}/the moved prefix")
  file(RENAME ${folder}/prefix ${prefix})
  list(APPEND arguments -DCMAKE_PREFIX_PATH=${prefix})
else()
  list(APPEND arguments -DNESTSMITH_SOURCE=${SOURCE} -DNESTSMITH_LLVM_DIR=${LLVM_DIR}
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
endif()
step(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B ${folder}/build ${arguments})

set(object CMakeFiles/my_schedule.dir/my_schedule.cpp.o)
if(MODE STREQUAL subdirectory) # a full build would take minutes; the build of the examples links the same libraries
  step(${CMAKE_COMMAND} --build ${folder}/build --target ${object} other_names)
else()
  step(${CMAKE_COMMAND} --build ${folder}/build)
  step(${folder}/build/my_schedule list)
  expect("product")
  step(${folder}/build/without_commands)
  expect("for i_inner < 128 in threadIdx.x" "s.bind" "__global__ void" "refused: s.bind")
  foreach(name emitted own)
    foreach(file ${name}.cu ${name}.h)
      file(STRINGS ${folder}/build/nestsmith_emit/without_commands/${file} lines REGEX "${name}_launch\\(")
      if(NOT lines)
        message(FATAL_ERROR "nestsmith_emit: ${file} has no ${name}_launch")
      endif()
    endforeach()
  endforeach()
  step(${prefix}/bin/nestsmith --version)
  set(papers ${prefix}/share/doc/nestsmith)
  file(STRINGS ${papers}/CHANGELOG.md versions REGEX "^## \\[[0-9.]+\\] - ")
  list(GET versions 0 newest)
  string(REGEX REPLACE "^## \\[([0-9.]+)\\].*" "\\1" newest ${newest})
  expect("^nestsmith ${newest}\n$")
  set(the_cu CMakeLists.txt from_c.c from_cpp.cpp emitted/relu.cu emitted/relu.h)
  list(TRANSFORM the_cu PREPEND examples/use_the_cu/)
  foreach(paper LICENSE README.md README.ko.md docs/design.md examples/my_schedule.cpp ${the_cu})
    file(SIZE ${papers}/${paper} bytes) # fails if the file does not exist
  endforeach()
  if(EXISTS ${papers}/examples/CMakeLists.txt)
    message(FATAL_ERROR "examples/CMakeLists.txt, a part of nestsmith's own build, was installed")
  endif()
  step(bash -c ". '${prefix}/share/bash-completion/completions/nestsmith' && complete -p nestsmith")
  expect("-F _nestsmith nestsmith")
  file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.h)
  foreach(text ${texts})
    file(STRINGS ${text} lines REGEX "${SOURCE}|${BUILD}")
    if(lines)
      message(FATAL_ERROR "${text} names a folder of the build: ${lines}")
    endif()
  endforeach()
endif()

# A user's project may treat warnings in its own files as errors, but not warnings in files of nestsmith.
if(MODE STREQUAL subdirectory)
  file(STRINGS ${folder}/build/compile_commands.json commands REGEX "\"command\": .*/dsl/")
  list(LENGTH commands count)
  list(FILTER commands EXCLUDE REGEX " -Wno-error ")
  if(count EQUAL 0 OR commands)
    message(FATAL_ERROR "of ${count} commands, these treat warnings as errors: ${commands}")
  endif()
  file(STRINGS ${folder}/build/compile_commands.json commands REGEX "-Werror[ =].*/dsl/")
  if(commands)
    message(FATAL_ERROR "these treat warnings as errors: ${commands}")
  endif()
endif()

# If a package for the build is missing, the message names the package of Debian.
if(MODE STREQUAL subdirectory)
  foreach(case SQLite3:libsqlite3-dev fmt:libfmt-dev Eigen3:libeigen3-dev LLVM:llvm-dev)
    string(REGEX MATCH "(.*):(.*)" case ${case})
    set(expected "nestsmith needs ${CMAKE_MATCH_1}, which was not found; on Debian: apt-get install ${CMAKE_MATCH_2}")
    execute_process(COMMAND ${CMAKE_COMMAND} -DCMAKE_DISABLE_FIND_PACKAGE_${CMAKE_MATCH_1}=ON ${folder}/build
      ERROR_VARIABLE output OUTPUT_QUIET)
    execute_process(COMMAND ${CMAKE_COMMAND} -UCMAKE_DISABLE_FIND_PACKAGE_${CMAKE_MATCH_1} ${folder}/build OUTPUT_QUIET)
    string(REGEX REPLACE "[ \n]+" " " output "${output}") # CMake wraps the message
    expect("${expected}")
  endforeach()
endif()

# The example includes no file of the repository itself, and no header of LLVM, fmt or Eigen.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder}/build -- -t deps ${object} OUTPUT_VARIABLE output)
expect("/nestsmith/nestsmith\\.h" "/nestsmith/tools/cli\\.h")
if(output MATCHES "[^\n]*/(llvm|llvm-c|fmt|eigen3)/[^\n]*" OR output MATCHES "${SOURCE}/(dsl|schedules|tools)/[^\n]*")
  message(FATAL_ERROR "a user's program includes ${CMAKE_MATCH_0}")
endif()

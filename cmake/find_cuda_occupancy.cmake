# Sets NESTSMITH_CUDA_OCCUPANCY to the folder with cuda_occupancy.h. The header can be in wheels, in a toolkit or in the
# system; the order is that in which the tool looks for CUDA (runtime/cuda/library.h). If there is none, the variable is
# OFF, and the build has no occupancy. Each build checks the folders again. As a script (cmake -P), this file fails if
# there is no header.

get_filename_component(nestsmith_source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(nestsmith_looked)
string(REPLACE ":" ";" nestsmith_named "$ENV{NESTSMITH_CUDA_PATH}")
foreach(folder ${nestsmith_named})
  list(APPEND nestsmith_looked ${folder}/include ${folder}/nvidia/*/include)
endforeach()
list(APPEND nestsmith_looked ${nestsmith_source}/build/wheels/nvidia/*/include)
foreach(variable CUDA_HOME CUDA_PATH)
  if(NOT "$ENV{${variable}}" STREQUAL "")
    list(APPEND nestsmith_looked $ENV{${variable}}/include)
  endif()
endforeach()
list(APPEND nestsmith_looked /usr/local/cuda/include /usr/local/cuda-*/include /opt/cuda/include
  $ENV{HOME}/.local/lib/python3*/site-packages/nvidia/*/include
  /usr/local/lib/python3*/*-packages/nvidia/*/include /usr/lib/python3*/*-packages/nvidia/*/include
  /usr/local/include /usr/include)

if(CMAKE_SCRIPT_MODE_FILE)
  set(nestsmith_again) # a script has no build that could check again
else()
  set(nestsmith_again CONFIGURE_DEPENDS)
endif()
if(NOT DEFINED NESTSMITH_CUDA_OCCUPANCY)
  set(NESTSMITH_CUDA_OCCUPANCY OFF)
  foreach(folder ${nestsmith_looked})
    file(GLOB headers ${nestsmith_again} ${folder}/cuda_occupancy.h)
    if(headers AND NOT NESTSMITH_CUDA_OCCUPANCY)
      list(SORT headers COMPARE NATURAL ORDER DESCENDING) # the newest version
      list(GET headers 0 header)
      get_filename_component(NESTSMITH_CUDA_OCCUPANCY ${header} DIRECTORY)
    endif()
  endforeach()
endif()
if(CMAKE_SCRIPT_MODE_FILE AND NOT NESTSMITH_CUDA_OCCUPANCY)
  message(FATAL_ERROR "no cuda_occupancy.h in ${nestsmith_looked}")
endif()

# What nestsmith links when it is built. An installed package looks for it by itself (nestsmithConfig.cmake.in); fmt and
# Eigen are headers, used inside.

find_package(Threads REQUIRED)

# LLVM Support, statically, with the static libraries it leans on where the system has them.
if(NOT TARGET nestsmith::llvm)
  include(choose_llvm)
  if(NESTSMITH_LLVM_DIR)
    find_package(LLVM REQUIRED CONFIG NO_DEFAULT_PATH
      PATHS ${NESTSMITH_LLVM_DIR} PATH_SUFFIXES lib/cmake/llvm cmake)
  else()
    find_package(LLVM REQUIRED CONFIG)
  endif()
  if(LLVM_VERSION_MAJOR LESS 14)
    message(FATAL_ERROR "nestsmith needs LLVM 14 or newer, found ${LLVM_VERSION} in ${LLVM_DIR}; "
      "name another with -DNESTSMITH_LLVM_DIR=/usr/lib/llvm-19")
  endif()
  message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}${other_llvms}")
  set(nestsmith_llvm_libraries)
  foreach(library LLVMSupport LLVMDemangle)
    find_library(NESTSMITH_${library} NAMES lib${library}.a PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH REQUIRED)
    list(APPEND nestsmith_llvm_libraries ${NESTSMITH_${library}})
  endforeach()
  # Which of these libLLVMSupport.a refers to depends on its version: z, zstd from 15 on, tinfo until 18.
  foreach(library z zstd tinfo)
    find_library(NESTSMITH_lib${library} NAMES lib${library}.a ${library})
    if(NESTSMITH_lib${library})
      list(APPEND nestsmith_llvm_libraries ${NESTSMITH_lib${library}})
    endif()
  endforeach()
  add_library(nestsmith::llvm INTERFACE IMPORTED GLOBAL)
  target_include_directories(nestsmith::llvm INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(nestsmith::llvm INTERFACE ${nestsmith_llvm_libraries} Threads::Threads ${CMAKE_DL_LIBS} m)
  mark_as_advanced(NESTSMITH_LLVMSupport NESTSMITH_LLVMDemangle NESTSMITH_libz NESTSMITH_libzstd NESTSMITH_libtinfo)
endif()

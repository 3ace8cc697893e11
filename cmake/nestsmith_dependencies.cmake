# Finds the packages that nestsmith links. An installed package finds its libraries by itself
# (nestsmithConfig.cmake.in). fmt and Eigen are headers that only the sources of nestsmith include.

# Finds a package, or fails with a message that names the package of Debian.
macro(nestsmith_find package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "nestsmith needs ${package}, which was not found; on Debian: apt-get install ${debian_package}")
  endif()
endmacro()

nestsmith_find(fmt libfmt-dev)
nestsmith_find(Eigen3 libeigen3-dev NO_MODULE)
find_package(Threads REQUIRED)

# SQLite. The static library is preferred if the system has it.
if(NOT TARGET nestsmith::sqlite)
  nestsmith_find(SQLite3 libsqlite3-dev)
  find_library(NESTSMITH_libsqlite3 NAMES libsqlite3.a sqlite3)
  add_library(nestsmith::sqlite INTERFACE IMPORTED GLOBAL)
  target_include_directories(nestsmith::sqlite INTERFACE ${SQLite3_INCLUDE_DIRS})
  target_link_libraries(nestsmith::sqlite INTERFACE ${NESTSMITH_libsqlite3} Threads::Threads ${CMAKE_DL_LIBS} m)
  mark_as_advanced(NESTSMITH_libsqlite3)
endif()

# nestsmith_llvm_uses(LIBRARY REGEX DEBIAN_PACKAGE): links the library if the dependencies of LLVM match the regular
# expression.
macro(nestsmith_llvm_uses library regex debian_package)
  if(llvm_uses MATCHES "${regex}")
    find_library(NESTSMITH_lib${library} NAMES lib${library}.a ${library})
    if(NOT NESTSMITH_lib${library})
      message(FATAL_ERROR "LLVM ${LLVM_VERSION} in ${LLVM_DIR} uses lib${library}, which was not found; "
        "on Debian: apt-get install ${debian_package}")
    endif()
    list(APPEND nestsmith_system_libraries ${library})
    list(APPEND nestsmith_llvm_libraries ${NESTSMITH_lib${library}})
  endif()
endmacro()

# LLVM Support, as a static library, and the libraries that it uses. Their static versions are preferred if the system
# has them.
if(NOT TARGET nestsmith::llvm)
  include(choose_llvm)
  if(NESTSMITH_LLVM_DIR)
    nestsmith_find(LLVM "llvm-dev, or name LLVM's prefix with -DNESTSMITH_LLVM_DIR; got ${NESTSMITH_LLVM_DIR}"
      CONFIG NO_DEFAULT_PATH PATHS ${NESTSMITH_LLVM_DIR} PATH_SUFFIXES lib/cmake/llvm cmake)
  else()
    nestsmith_find(LLVM "llvm-dev, or name LLVM's prefix with -DNESTSMITH_LLVM_DIR" CONFIG)
  endif()
  if(LLVM_VERSION_MAJOR LESS 14)
    message(FATAL_ERROR "nestsmith needs LLVM 14 or newer, found ${LLVM_VERSION} in ${LLVM_DIR}; "
      "name another with -DNESTSMITH_LLVM_DIR=/usr/lib/llvm-19")
  endif()
  message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}${other_llvms}")
  set(nestsmith_llvm_libraries)
  foreach(library LLVMSupport LLVMDemangle)
    find_library(NESTSMITH_${library} NAMES lib${library}.a PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH)
    if(NOT NESTSMITH_${library})
      message(FATAL_ERROR "LLVM ${LLVM_VERSION} in ${LLVM_DIR} has no lib${library}.a; "
        "on Debian: apt-get install llvm-${LLVM_VERSION_MAJOR}-dev")
    endif()
    list(APPEND nestsmith_llvm_libraries ${NESTSMITH_${library}})
  endforeach()
  # libLLVMSupport.a refers to libraries that depend on how LLVM was built. zstd is used from LLVM 15 on, and tinfo up
  # to LLVM 18.
  get_target_property(llvm_uses LLVMSupport INTERFACE_LINK_LIBRARIES)
  set(nestsmith_system_libraries)
  nestsmith_llvm_uses(z "ZLIB|libz[.]|(^|;)z(;|$)" zlib1g-dev)
  nestsmith_llvm_uses(zstd zstd libzstd-dev)
  nestsmith_llvm_uses(tinfo "Terminfo|tinfo" libncurses-dev)
  add_library(nestsmith::llvm INTERFACE IMPORTED GLOBAL)
  target_include_directories(nestsmith::llvm INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(nestsmith::llvm INTERFACE ${nestsmith_llvm_libraries} Threads::Threads ${CMAKE_DL_LIBS} m)
  mark_as_advanced(NESTSMITH_LLVMSupport NESTSMITH_LLVMDemangle NESTSMITH_libz NESTSMITH_libzstd NESTSMITH_libtinfo)
endif()

# A project that adds nestsmith as a subdirectory links its targets, so it must see the imported targets that they link.
# (CMAKE_FIND_PACKAGE_TARGETS_GLOBAL would do, from CMake 3.24 on.)
get_property(nestsmith_found_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
set_property(TARGET ${nestsmith_found_targets} PROPERTY IMPORTED_GLOBAL TRUE)

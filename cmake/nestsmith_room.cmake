# Defines the library of fmt, the flags, and the function that defines the library of a room.
#
# fmt is a static library (see fmt.cpp). It is compiled without inlining, so that it has a copy of each template.
get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
add_library(nestsmith_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
target_include_directories(nestsmith_fmt SYSTEM PUBLIC $<BUILD_INTERFACE:${fmt_headers}>)
target_compile_features(nestsmith_fmt PUBLIC cxx_std_20)
target_compile_options(nestsmith_fmt PRIVATE -fno-inline)
set_target_properties(nestsmith_fmt PROPERTIES EXPORT_NAME fmt POSITION_INDEPENDENT_CODE ON)

# Flags for all sources of nestsmith. Contraction is off, so that the simulator and the references compute the same bits
# on every host.
add_library(nestsmith_flags INTERFACE)
target_compile_features(nestsmith_flags INTERFACE cxx_std_20)
target_compile_options(nestsmith_flags INTERFACE -Wall -Wextra -ffp-contract=off)
# A new compiler has new warnings. They must not stop a user's build, even if the user's own flags contain -Werror.
set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
target_compile_options(nestsmith_flags INTERFACE $<IF:$<BOOL:${NESTSMITH_WARNINGS_AS_ERRORS}>,-Werror,-Wno-error>)
if(NESTSMITH_STATIC_RUNTIME)
  target_link_options(nestsmith_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# nestsmith_room(NAME [ROOM...]): defines the library nestsmith_NAME from every .cpp of this folder. It uses the named
# rooms. Includes are relative to the root of the repository.
function(nestsmith_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(nestsmith_${name} STATIC ${sources})
  set_target_properties(nestsmith_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(nestsmith_${name} PUBLIC cxx_std_20)
  target_include_directories(nestsmith_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  list(TRANSFORM ARGN PREPEND nestsmith_ OUTPUT_VARIABLE rooms)
  target_link_libraries(nestsmith_${name}
    PUBLIC ${rooms}
    PRIVATE nestsmith_fmt nestsmith::llvm Threads::Threads
            $<BUILD_INTERFACE:nestsmith_flags> $<BUILD_INTERFACE:Eigen3::Eigen>)
  # A unity build takes a third less time. Developers who change files can set CMAKE_UNITY_BUILD=OFF.
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(nestsmith_${name} PROPERTIES UNITY_BUILD ON)
  endif()
  # The precompiled header contains the headers that nearly every file includes, and saves a quarter of the build's
  # time. Each file still includes the headers that it uses: the preset `tidy` builds without a precompiled header.
  if(name STREQUAL dsl)
    target_precompile_headers(nestsmith_dsl PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory>
      <optional> <set> <span> <string> <string_view> <tuple> <utility> <variant> <vector> <fmt/format.h>)
  else()
    target_precompile_headers(nestsmith_${name} REUSE_FROM nestsmith_dsl)
  endif()
endfunction()

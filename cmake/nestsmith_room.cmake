# fmt as a static library of our own; see fmt.cpp. Without inlining, so that it has a copy of each template.
get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
add_library(nestsmith_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
target_include_directories(nestsmith_fmt SYSTEM PUBLIC $<BUILD_INTERFACE:${fmt_headers}>)
target_compile_features(nestsmith_fmt PUBLIC cxx_std_20)
target_compile_options(nestsmith_fmt PRIVATE -fno-inline)
set_target_properties(nestsmith_fmt PROPERTIES EXPORT_NAME fmt POSITION_INDEPENDENT_CODE ON)

# Flags of everything that is ours. Contraction is off so that the simulator and the references give the
# same bits on every host.
add_library(nestsmith_flags INTERFACE)
target_compile_features(nestsmith_flags INTERFACE cxx_std_20)
target_compile_options(nestsmith_flags INTERFACE -Wall -Wextra -ffp-contract=off)
# A new compiler has new warnings, which must not stop a user's build; also where the user's own flags have -Werror.
set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
target_compile_options(nestsmith_flags INTERFACE $<IF:$<BOOL:${NESTSMITH_WARNINGS_AS_ERRORS}>,-Werror,-Wno-error>)
if(NESTSMITH_STATIC_RUNTIME)
  target_link_options(nestsmith_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# nestsmith_room(NAME [ROOM...]): the library nestsmith_NAME from every .cpp of this folder. It uses the named
# rooms. Its includes are written from the root of the repository.
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
  # Several files are compiled as one, which takes a third less time; CMAKE_UNITY_BUILD=OFF for those who change
  # them. Commands all have a `run` of their own.
  if(NOT DEFINED CMAKE_UNITY_BUILD AND NOT name STREQUAL cli)
    set_target_properties(nestsmith_${name} PROPERTIES UNITY_BUILD ON)
  endif()
  # What nearly every file includes is read once: a quarter of the time of the build. Each file includes what it
  # uses all the same; the preset `tidy` builds without.
  if(name STREQUAL dsl)
    target_precompile_headers(nestsmith_dsl PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory>
      <optional> <set> <span> <string> <string_view> <tuple> <utility> <variant> <vector> <fmt/format.h>)
  else()
    target_precompile_headers(nestsmith_${name} REUSE_FROM nestsmith_dsl)
  endif()
endfunction()

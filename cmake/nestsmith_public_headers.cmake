# Sets NESTSMITH_PUBLIC_INCLUDE, the include directory of a user. It is a folder of the build. It contains
# tools/nestsmith.h as nestsmith/nestsmith.h, the headers to which docs/language.md refers, and the headers that these
# include. In them, "dsl/x.h" is replaced by "nestsmith/dsl/x.h", so `nestsmith` is the only name in a user's include
# path. CMake writes the headers when it runs, and runs again if one of them changes.

set(NESTSMITH_PUBLIC_INCLUDE ${PROJECT_BINARY_DIR}/include)
# Those after the first are in docs/language.md, and nestsmith.h includes none of them. The test use.installed compiles
# each header that this page or the guide names.
set(headers tools/nestsmith.h dsl/expr/expr_limits.h dsl/hardware/cluster.h dsl/hardware/verify.h dsl/ir/region.h
            dsl/ir/whole_tiles.h)
set(seen)
set(made)
while(headers)
  list(POP_FRONT headers header)
  list(APPEND seen ${header})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
  file(READ ${PROJECT_SOURCE_DIR}/${header} text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" included "${text}")
  list(TRANSFORM included REPLACE "#include \"(.+)\"" "\\1")
  list(APPEND headers ${included})
  list(REMOVE_DUPLICATES headers)
  list(REMOVE_ITEM headers ${seen})

  string(REPLACE "#include \"" "#include \"nestsmith/" text "${text}")
  if(header STREQUAL tools/nestsmith.h)
    set(header nestsmith.h)
  endif()
  list(APPEND made ${NESTSMITH_PUBLIC_INCLUDE}/nestsmith/${header})
  # An unchanged header keeps its time, so nothing is compiled again.
  file(CONFIGURE OUTPUT ${NESTSMITH_PUBLIC_INCLUDE}/nestsmith/${header} CONTENT "${text}" @ONLY)
endwhile()
file(GLOB_RECURSE headers ${NESTSMITH_PUBLIC_INCLUDE}/*)
foreach(header ${headers})
  if(NOT header IN_LIST made) # a header that is no longer public
    file(REMOVE ${header})
  endif()
endforeach()

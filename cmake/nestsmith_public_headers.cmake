# Sets NESTSMITH_PUBLIC_INCLUDE, the include directory of a user. It is a folder of the build. It contains
# tools/nestsmith.h as nestsmith/nestsmith.h and the headers that this one includes. In them, "dsl/x.h" is replaced by
# "nestsmith/dsl/x.h", so `nestsmith` is the only name in a user's include path. CMake writes the headers when it runs,
# and runs again if one of them changes.

set(NESTSMITH_PUBLIC_INCLUDE ${PROJECT_BINARY_DIR}/include)
set(headers tools/nestsmith.h)
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
  if(NOT header IN_LIST made) # a header that nestsmith.h no longer includes
    file(REMOVE ${header})
  endif()
endforeach()

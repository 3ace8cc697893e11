# nestsmith_emit(TARGET RUNG [NAME name] [PROGRAM program] [OPTIONS option...])
#
# Emits the kernels of a rung during the build, as a .cu file with a launcher and a header for C and C++, and adds them to
# TARGET. If TARGET does not exist, it becomes a static library, which needs the language CUDA.
#
#   NAME     the name of the functions and of the files, NAME.cu and NAME.h; TARGET if it is not given
#   PROGRAM  the program that has the rung: a target of yours that calls cli_main, or a path; nestsmith if it is not given
#   OPTIONS  options of `nestsmith emit`, such as --dispatch --gpu H100 --dtype bf16
function(nestsmith_emit target rung)
  cmake_parse_arguments(PARSE_ARGV 2 emit "" "NAME;PROGRAM" "OPTIONS")
  if(DEFINED emit_UNPARSED_ARGUMENTS OR DEFINED emit_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "nestsmith_emit: got '${emit_UNPARSED_ARGUMENTS}${emit_KEYWORDS_MISSING_VALUES}', expected "
      "nestsmith_emit(TARGET RUNG [NAME name] [PROGRAM program] [OPTIONS option...])")
  endif()
  if(NOT DEFINED emit_NAME)
    set(emit_NAME ${target})
  endif()
  if(NOT emit_NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "nestsmith_emit: '${emit_NAME}' cannot be the name of a function; give NAME")
  endif()
  if(NOT DEFINED emit_PROGRAM AND TARGET nestsmith)
    set(emit_PROGRAM nestsmith) # a part of this build
  elseif(NOT DEFINED emit_PROGRAM)
    set(emit_PROGRAM ${NESTSMITH_PROGRAM})
  endif()
  if(TARGET ${emit_PROGRAM})
    set(command $<TARGET_FILE:${emit_PROGRAM}>)
  elseif(EXISTS "${emit_PROGRAM}")
    set(command ${emit_PROGRAM})
  else()
    message(FATAL_ERROR "nestsmith_emit: the program '${emit_PROGRAM}' is neither a target nor a file; give PROGRAM")
  endif()
  if(NOT TARGET ${target})
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(NOT CUDA IN_LIST languages)
      message(FATAL_ERROR "nestsmith_emit: the library '${target}' needs the language CUDA; write "
        "project(… LANGUAGES CXX CUDA), or enable_language(CUDA)")
    endif()
    add_library(${target} STATIC)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/nestsmith_emit/${target})
  file(MAKE_DIRECTORY ${folder})
  set(files ${folder}/${emit_NAME}.cu ${folder}/${emit_NAME}.h)
  add_custom_command(OUTPUT ${files}
    COMMAND ${command} emit ${rung} ${emit_OPTIONS} --name ${emit_NAME} -o ${folder}/${emit_NAME}.cu
      --header ${folder}/${emit_NAME}.h
    DEPENDS ${emit_PROGRAM} VERBATIM)
  target_sources(${target} PRIVATE ${files})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}> ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
endfunction()

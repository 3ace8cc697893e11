# Chooses the LLVM to build with. Sets NESTSMITH_LLVM_DIR unless the user named an LLVM or the build already has one.
#
# Of the versions in /usr/lib/llvm-*, it takes the newest one with which nestsmith is tested. If there is none, it takes
# the newest one. Only versions with an installed static Support library count. If /usr/lib has no LLVM, find_package
# searches the system.

set(oldest_llvm 14)
set(newest_tested_llvm 19)
set(other_llvms "")
if(NOT DEFINED nestsmith_llvms) # a test names another folder
  set(nestsmith_llvms /usr/lib)
endif()

# A build that used another LLVM must not keep its cached paths.
if(NESTSMITH_LLVM_DIR AND LLVM_DIR)
  string(FIND "${LLVM_DIR}/" "${NESTSMITH_LLVM_DIR}/" at)
  if(NOT at EQUAL 0)
    foreach(entry LLVM_DIR NESTSMITH_LLVMSupport NESTSMITH_LLVMDemangle)
      unset(${entry} CACHE)
    endforeach()
  endif()
endif()

if(NOT NESTSMITH_LLVM_DIR AND NOT LLVM_DIR AND NOT LLVM_ROOT AND NOT DEFINED ENV{LLVM_DIR} AND NOT DEFINED ENV{LLVM_ROOT})
  file(GLOB libraries ${nestsmith_llvms}/llvm-*/lib/libLLVMSupport.a ${nestsmith_llvms}/llvm-*/lib64/libLLVMSupport.a)
  set(tested)
  set(newer)
  foreach(library ${libraries})
    string(REGEX MATCH "/llvm-([0-9]+)/lib(64)?/[^/]*$" end ${library})
    if(CMAKE_MATCH_1 GREATER newest_tested_llvm)
      list(APPEND newer ${CMAKE_MATCH_1})
    elseif(CMAKE_MATCH_1 GREATER_EQUAL oldest_llvm)
      list(APPEND tested ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(SORT tested COMPARE NATURAL ORDER DESCENDING)
  list(SORT newer COMPARE NATURAL ORDER DESCENDING)
  set(versions ${tested} ${newer})
  if(versions)
    list(POP_FRONT versions version)
    set(NESTSMITH_LLVM_DIR ${nestsmith_llvms}/llvm-${version})
    if(versions)
      list(JOIN versions ", " others)
      set(other_llvms "; also installed: ${others}; -DNESTSMITH_LLVM_DIR=PREFIX takes another")
    endif()
  endif()
endif()

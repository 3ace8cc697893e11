# The rules of `cmake --install`: the tool, the libraries, the headers under include/nestsmith, the CMake package, and
# the documents.

include(CMakePackageConfigHelpers)

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/nestsmith)
install(TARGETS nestsmith_dsl nestsmith_schedules nestsmith_lowering nestsmith_codegen nestsmith_sim nestsmith_model
                nestsmith_cuda nestsmith_check nestsmith_tune nestsmith_records nestsmith_cli nestsmith_all nestsmith_fmt
        EXPORT nestsmith_targets)
install(TARGETS nestsmith)
install(DIRECTORY ${NESTSMITH_PUBLIC_INCLUDE}/nestsmith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES tools/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME nestsmith)
install(FILES LICENSE CHANGELOG.md CONTRIBUTING.md README.md README.ko.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.png)
# Installs the examples as a user's project. examples/CMakeLists.txt is left out, because it is a part of this build.
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN examples/CMakeLists.txt EXCLUDE
  PATTERN .clang-format EXCLUDE)
install(EXPORT nestsmith_targets NAMESPACE nestsmith:: DESTINATION ${config})

# The folders of the libraries that the installed archives link.
get_filename_component(nestsmith_llvm_folder ${NESTSMITH_LLVMSupport} DIRECTORY)
set(nestsmith_system_folders)
foreach(library ${nestsmith_system_libraries} sqlite3)
  get_filename_component(folder ${NESTSMITH_lib${library}} DIRECTORY)
  list(APPEND nestsmith_system_folders ${folder})
endforeach()
list(REMOVE_DUPLICATES nestsmith_system_folders)

configure_package_config_file(cmake/nestsmithConfig.cmake.in ${PROJECT_BINARY_DIR}/nestsmithConfig.cmake
  INSTALL_DESTINATION ${config} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nestsmithConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nestsmithConfig.cmake ${PROJECT_BINARY_DIR}/nestsmithConfigVersion.cmake
              cmake/nestsmith_emit.cmake DESTINATION ${config})

# `cmake --install`: the libraries, the headers under include/nestsmith, and find_package(nestsmith).

include(CMakePackageConfigHelpers)

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/nestsmith)
install(TARGETS nestsmith_dsl nestsmith_lowering nestsmith_codegen nestsmith_runtime nestsmith_schedules nestsmith_cli
                nestsmith_all nestsmith_fmt EXPORT nestsmith_targets)
install(TARGETS nestsmith)
install(DIRECTORY ${NESTSMITH_PUBLIC_INCLUDE}/nestsmith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT nestsmith_targets NAMESPACE nestsmith:: DESTINATION ${config})

configure_package_config_file(cmake/nestsmithConfig.cmake.in ${PROJECT_BINARY_DIR}/nestsmithConfig.cmake
  INSTALL_DESTINATION ${config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nestsmithConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nestsmithConfig.cmake ${PROJECT_BINARY_DIR}/nestsmithConfigVersion.cmake
              cmake/nestsmith_dependencies.cmake DESTINATION ${config})

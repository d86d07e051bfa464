# install.cmake - libraries, headers, command, find_package(takt) and pkg-config; all relocatable.
if(NOT TARGET takt)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/takt)

install(TARGETS takt takt_static EXPORT takt)
install(DIRECTORY include/takt TYPE INCLUDE FILES_MATCHING PATTERN *.h)
if(TARGET takt_tool)
  install(TARGETS takt_tool)
  install(DIRECTORY zoo DESTINATION ${CMAKE_INSTALL_DATADIR}/takt)
endif()
install(EXPORT takt NAMESPACE takt:: DESTINATION ${package_dir} FILE takt-targets.cmake)
configure_package_config_file(cmake/takt-config.cmake.in takt-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(takt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/takt-config.cmake
  ${PROJECT_BINARY_DIR}/takt-config-version.cmake DESTINATION ${package_dir})

# pcfiledir is where takt.pc lies now, so the prefix follows when the installation is moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE up)
configure_file(takt.pc.in takt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/takt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

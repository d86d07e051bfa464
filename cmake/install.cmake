# install.cmake - libraries, headers, command, find_package(takt) and pkg-config; all relocatable.
if(NOT TARGET takt)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/takt)

install(TARGETS takt takt_static takt_measure takt_measure_static EXPORT takt)
install(DIRECTORY include/takt TYPE INCLUDE FILES_MATCHING PATTERN *.h)
if(TARGET takt_tool)
  install(TARGETS takt_tool)
  install(DIRECTORY zoo DESTINATION ${CMAKE_INSTALL_DATADIR}/takt)
endif()

# The manual page and what shells complete are written by the command itself, when it is installed.
function(install_written to)
  cmake_path(GET to FILENAME name)
  cmake_path(GET to PARENT_PATH folder)
  set(written ${PROJECT_BINARY_DIR}/written/${name})
  install(CODE "file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/written)
    execute_process(COMMAND $<TARGET_FILE:takt_tool> ${ARGN} OUTPUT_FILE ${written}
      COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${written} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()
if(TARGET takt_tool AND NOT CMAKE_CROSSCOMPILING)
  install_written(man/man1/takt.1 help --man)
  install_written(bash-completion/completions/takt completion bash)
  install_written(zsh/site-functions/_takt completion zsh)
  install_written(fish/vendor_completions.d/takt.fish completion fish)
endif()
install(EXPORT takt NAMESPACE takt:: DESTINATION ${package_dir} FILE takt-targets.cmake)
configure_package_config_file(cmake/takt-config.cmake.in takt-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(takt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/takt-config.cmake
  ${PROJECT_BINARY_DIR}/takt-config-version.cmake DESTINATION ${package_dir})

# pcfiledir is where a .pc file lies now, so the prefix follows when the installation is moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE up)
foreach(name takt takt-measure)
  configure_file(${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# python.cmake - the Python package: bind/python/src is one extension, for python_abi.cmake's ABI.
#
# Next to the library, in <build>/python, for tests; a wheel by scikit-build-core (pyproject.toml).
# Extension and command share the libraries, which are next to them in the package.
# TAKT_PREBUILT is a build folder whose library and command a wheel takes as they are.
set(TAKT_PREBUILT "" CACHE PATH "a build of Takt whose library and command go into the wheel")
set(package ${PROJECT_BINARY_DIR}/python/takt)
find_package(Python3 3.11 QUIET COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
include(python_preload)
if(NOT Python3_Development.Module_FOUND OR CMAKE_CROSSCOMPILING OR NOT TARGET takt_tool
   OR (TAKT_INSTRUMENTED AND NOT preload))
  if(SKBUILD)
    message(FATAL_ERROR "Python's headers are missing: on Debian, apt install python3-dev")
  endif()
  return()
endif()

# A second link of the command, which finds the library next to it or one folder up.
add_executable(takt_dynamic $<TARGET_OBJECTS:takt_tool>)
takt_flags(takt_dynamic)
target_link_libraries(takt_dynamic PRIVATE takt_measure)
set_target_properties(takt_dynamic PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME takt-dynamic
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
target_link_options(takt_dynamic PRIVATE ${preload_link})

# Where `make` has built the library, it is brought up to date there instead of being built again.
set(libraries libtakt.so libtakt-measure.so)
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(fresh takt_measure takt_tool takt_dynamic)
set(from ${PROJECT_BINARY_DIR})
if(TAKT_PREBUILT)
  set(fresh "")
  set(from ${TAKT_PREBUILT})
elseif(SKBUILD AND EXISTS ${PROJECT_SOURCE_DIR}/build/release/build.ninja)
  set(from ${PROJECT_SOURCE_DIR}/build/release)
  add_custom_target(takt_fresh COMMAND ${CMAKE_COMMAND} --build ${from} --target
    libtakt-measure.so takt_tool takt_dynamic
    BYPRODUCTS ${from}/takt ${from}/libtakt.so ${from}/libtakt-measure.so ${from}/takt-dynamic
    VERBATIM)
  set(fresh takt_fresh)
endif()

include(python_abi)
file(GLOB python_py ${glob} bind/python/takt/*.py bind/python/takt/*.pyi bind/python/takt/py.typed)
add_library(takt_python MODULE ${python_c})
takt_flags(takt_python)
target_compile_definitions(takt_python PRIVATE ${python_definitions})
target_include_directories(takt_python PRIVATE bind/python/src include)
target_include_directories(takt_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_link_libraries(takt_python PRIVATE ${from}/libtakt-measure.so ${from}/libtakt.so
  Threads::Threads)
set_target_properties(takt_python PROPERTIES PREFIX "" OUTPUT_NAME _takt SUFFIX ${python_suffix}
  LIBRARY_OUTPUT_DIRECTORY ${package}
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN;$ORIGIN/../..")
if(fresh)
  add_dependencies(takt_python ${fresh})
endif()

# The functions of takt.ops, the modules of takt.nn and the stubs come from the records and texts.
set(generated ${package}/ops.py ${package}/ops.pyi ${package}/nn.py ${package}/nn.pyi)
file(GLOB layer_texts ${glob} src/lang/layers/*.takt)
add_custom_command(OUTPUT ${generated}
  COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0
    ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bind/python/generate.py
    --tool ${from}/takt --layers ${PROJECT_SOURCE_DIR}/src/lang/layers --out ${package}
  DEPENDS bind/python/generate.py ${layer_texts} ${from}/takt ${fresh}
  COMMENT "Writing takt.ops and takt.nn" VERBATIM)
add_custom_command(OUTPUT ${package}/copied
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_py} ${package}
  COMMAND ${CMAKE_COMMAND} -E touch ${package}/copied
  DEPENDS ${python_py} COMMENT "Copying the Python package" VERBATIM)
add_custom_target(takt_package ALL DEPENDS takt_python ${generated} ${package}/copied)

if(SKBUILD)
  set(stripped ${PROJECT_BINARY_DIR}/stripped)
  add_custom_target(takt_stripped
    COMMAND ${CMAKE_COMMAND} -E make_directory ${stripped}
    COMMAND ${CMAKE_STRIP} -o ${stripped}/takt ${from}/takt-dynamic DEPENDS ${fresh} VERBATIM)
  foreach(library IN LISTS libraries)
    add_custom_command(TARGET takt_stripped POST_BUILD COMMAND ${CMAKE_STRIP} --strip-unneeded
      -o ${stripped}/${library}.${soversion} ${from}/${library} VERBATIM)
    install(FILES ${stripped}/${library}.${soversion} DESTINATION takt COMPONENT python)
  endforeach()
  list(TRANSFORM libraries PREPEND ${stripped}/ OUTPUT_VARIABLE slim)
  list(TRANSFORM slim APPEND .${soversion})
  add_custom_command(TARGET takt_stripped POST_BUILD
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bind/python/unapply.py
      ${stripped}/takt ${slim} VERBATIM)
  add_dependencies(takt_package takt_stripped)
  install(TARGETS takt_python DESTINATION takt COMPONENT python)
  install(FILES ${generated} DESTINATION takt COMPONENT python)
  install(PROGRAMS ${stripped}/takt DESTINATION takt/bin COMPONENT python)
endif()

# python.cmake - the Python package: bind/python/src is one extension for the limited API of 3.11.
#
# Beside the library, in <build>/python, for tests; a wheel by scikit-build-core (pyproject.toml).
# TAKT_PREBUILT is a build folder whose library and command a wheel takes as they are.
set(TAKT_PREBUILT "" CACHE PATH "a build of Takt whose libtakt.a and takt go into the wheel")
set(package ${PROJECT_BINARY_DIR}/python/takt)
find_package(Python3 3.11 QUIET COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
if(NOT Python3_Development.Module_FOUND OR CMAKE_CROSSCOMPILING OR TAKT_INSTRUMENTED
   OR NOT (TARGET takt_static OR TAKT_PREBUILT))
  if(SKBUILD)
    message(FATAL_ERROR "Python's headers are missing: on Debian, apt install python3-dev")
  endif()
  return()
endif()

# Where `make` has built the library, it is brought up to date there instead of being built again.
set(fresh "")
if(SKBUILD AND NOT TAKT_PREBUILT AND EXISTS ${PROJECT_SOURCE_DIR}/build/release/build.ninja)
  set(TAKT_PREBUILT ${PROJECT_SOURCE_DIR}/build/release)
  add_custom_target(takt_fresh COMMAND ${CMAKE_COMMAND} --build ${TAKT_PREBUILT} --target
    takt_static takt_tool BYPRODUCTS ${TAKT_PREBUILT}/libtakt.a ${TAKT_PREBUILT}/takt VERBATIM)
  set(fresh takt_fresh)
endif()
if(TAKT_PREBUILT)
  add_library(takt_for_python STATIC IMPORTED)
  set_target_properties(takt_for_python PROPERTIES IMPORTED_LOCATION ${TAKT_PREBUILT}/libtakt.a
    INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(takt_for_python INTERFACE m Threads::Threads)
  set(tool ${TAKT_PREBUILT}/takt)
else()
  add_library(takt_for_python ALIAS takt_static)
  set(tool $<TARGET_FILE:takt_tool>)
  set(fresh takt_tool)
endif()

file(GLOB python_c ${glob} bind/python/src/*.c)
file(GLOB python_py ${glob} bind/python/takt/*.py bind/python/takt/*.pyi bind/python/takt/py.typed)
add_library(takt_python MODULE ${python_c})
if(fresh)
  add_dependencies(takt_python ${fresh})
endif()
takt_flags(takt_python)
target_compile_definitions(takt_python PRIVATE Py_LIMITED_API=0x030B0000)
target_include_directories(takt_python PRIVATE bind/python/src)
target_include_directories(takt_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_link_libraries(takt_python PRIVATE takt_for_python)
# Of the library only what the extension calls, and no symbol but PyInit.
target_link_options(takt_python PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL)
set_target_properties(takt_python PROPERTIES PREFIX "" OUTPUT_NAME _takt SUFFIX .abi3.so
  LIBRARY_OUTPUT_DIRECTORY ${package})

# The functions of takt.ops and the stubs are written from the op records.
set(generated ${package}/ops.py ${package}/ops.pyi)
add_custom_command(OUTPUT ${generated}
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bind/python/generate.py
    --tool ${tool} --out ${package}
  DEPENDS bind/python/generate.py ${fresh}
  COMMENT "Writing takt.ops" VERBATIM)
add_custom_command(OUTPUT ${package}/copied
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_py} ${package}
  COMMAND ${CMAKE_COMMAND} -E touch ${package}/copied
  DEPENDS ${python_py} COMMENT "Copying the Python package" VERBATIM)
add_custom_target(takt_package ALL DEPENDS takt_python ${generated} ${package}/copied)

if(SKBUILD)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/bin/takt
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bin
    COMMAND ${CMAKE_STRIP} -o ${PROJECT_BINARY_DIR}/bin/takt ${tool}
    DEPENDS ${fresh} COMMENT "Stripping the command" VERBATIM)
  add_custom_target(takt_command DEPENDS ${PROJECT_BINARY_DIR}/bin/takt)
  add_dependencies(takt_package takt_command)
  set(tool ${PROJECT_BINARY_DIR}/bin/takt)
  install(TARGETS takt_python DESTINATION takt COMPONENT python)
  install(FILES ${generated} DESTINATION takt COMPONENT python)
  install(PROGRAMS ${tool} DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()

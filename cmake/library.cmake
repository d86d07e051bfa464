# library.cmake - libtakt and libtakt-measure, static and shared, and the command.
#
# libtakt-measure is src/measure: what describes and measures models, for programs on the way to a
# finished one. It links libtakt and nothing there needs it. Both forms of a library are made of the
# same objects. The command and the tests link the static ones: the command needs no library path,
# and tests reach what the shared ones hide.

# Libraries `name` and `name`_static, called lib`output`, of ARGN.
function(takt_library name output)
  add_library(${name}_objects OBJECT ${ARGN})
  add_dependencies(${name}_objects takt_commit)
  takt_flags(${name}_objects)
  target_include_directories(${name}_objects PRIVATE include src ${TAKT_GEN})

  add_library(${name}_static STATIC $<TARGET_OBJECTS:${name}_objects>)
  add_library(${name} SHARED $<TARGET_OBJECTS:${name}_objects>)
  takt_flags(${name})
  if(NOT TAKT_INSTRUMENTED) # the program brings the functions of sanitizers
    target_link_options(${name} PRIVATE -Wl,-z,defs $<$<CONFIG:Release>:-Wl,--gc-sections>)
  endif()
  set_target_properties(${name} ${name}_static PROPERTIES OUTPUT_NAME ${output} LINKER_LANGUAGE C)
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  foreach(library ${name} ${name}_static)
    target_include_directories(${library} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(${library} PUBLIC m Threads::Threads)
    add_library(takt::${library} ALIAS ${library})
  endforeach()
endfunction()

if(takt_sources)
  list(REMOVE_ITEM takt_sources ${measure_sources})
  takt_library(takt takt ${takt_sources})
  takt_library(takt_measure takt-measure ${measure_sources})
  target_link_libraries(takt_measure PUBLIC takt)
  target_link_libraries(takt_measure_static PUBLIC takt_static)
  # One finds the other in its own folder: in a build, an installation and a wheel.
  set_target_properties(takt_measure PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN")
endif()

# The command sees only the public headers: so the public interface is proven sufficient.
if(tool_files AND TARGET takt_static)
  add_executable(takt_tool ${tool_files})
  takt_flags(takt_tool)
  target_compile_options(takt_tool PRIVATE ${takt_small})
  set_target_properties(takt_tool PROPERTIES OUTPUT_NAME takt)
  target_include_directories(takt_tool PRIVATE tools/takt ${TAKT_GEN}/tool)
  target_link_libraries(takt_tool PRIVATE takt_measure_static)
endif()

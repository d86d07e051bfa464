# library.cmake - libtakt, static and shared, and the command.
#
# Both libraries are made of the same objects. The command and the tests link the static one: the
# command needs no library path, and tests reach what the shared library hides.
if(takt_sources)
  add_library(takt_objects OBJECT ${takt_sources})
  add_dependencies(takt_objects takt_commit)
  takt_flags(takt_objects)
  target_include_directories(takt_objects PRIVATE include src ${TAKT_GEN})

  add_library(takt_static STATIC $<TARGET_OBJECTS:takt_objects>)
  add_library(takt SHARED $<TARGET_OBJECTS:takt_objects>)
  takt_flags(takt)
  set_target_properties(takt takt_static PROPERTIES OUTPUT_NAME takt LINKER_LANGUAGE C)
  set_target_properties(takt PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  foreach(library takt takt_static)
    target_include_directories(${library} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(${library} PUBLIC m Threads::Threads)
    add_library(takt::${library} ALIAS ${library})
  endforeach()
endif()

# The command sees only the public headers: so the public interface is proven sufficient.
if(tool_files AND TARGET takt_static)
  add_executable(takt_tool ${tool_files})
  takt_flags(takt_tool)
  target_compile_options(takt_tool PRIVATE ${takt_small})
  set_target_properties(takt_tool PROPERTIES OUTPUT_NAME takt)
  target_include_directories(takt_tool PRIVATE tools/takt ${TAKT_GEN}/tool)
  target_link_libraries(takt_tool PRIVATE takt_static)
endif()

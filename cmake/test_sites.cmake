# test_sites.cmake - pieces of the library in which every allocation is a site (tests/util/sites.h).
#
# unit_<piece>_sites is linked with its own objects of src/<piece>; the archive has no need of its.
foreach(piece lang)
  if(NOT TARGET unit_${piece}_sites)
    continue()
  endif()
  file(GLOB piece_files ${glob} src/${piece}/*.c)
  add_library(takt_${piece}_sites OBJECT ${piece_files})
  takt_flags(takt_${piece}_sites)
  target_include_directories(takt_${piece}_sites PRIVATE include src ${TAKT_GEN} tests)
  target_compile_options(takt_${piece}_sites PRIVATE
    -include ${PROJECT_SOURCE_DIR}/tests/util/sites.h)
  target_link_libraries(unit_${piece}_sites PRIVATE $<TARGET_OBJECTS:takt_${piece}_sites>)
endforeach()

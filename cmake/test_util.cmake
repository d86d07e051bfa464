# test_util.cmake - tests/util, which every test program and fuzz target is linked with.
file(GLOB util_files ${glob} tests/util/*.c)
list(FILTER util_files EXCLUDE REGEX "(fsync|together)[.]c$")
if(util_files AND TARGET takt_static)
  add_library(takt_test_util STATIC ${util_files} ${takt_grid_files})
  takt_test_flags(takt_test_util)
  # Not from the archive, where the linker would take it only if something before asked for it.
  add_library(takt_test_fsync OBJECT tests/util/fsync.c)
  takt_test_flags(takt_test_fsync)
endif()

# test_util.cmake - tests/util, which every test program and fuzz target is linked with.
file(GLOB util_files ${glob} tests/util/*.c)
if(util_files AND TARGET takt_static)
  add_library(takt_test_util STATIC ${util_files})
  takt_test_flags(takt_test_util)
endif()

# tests_together.cmake - tests/<folder>/*.c, linked into one program: takt_tests NAME [ARGUMENT...].
#
# Each alone would hold a copy of the library, 2 GB in all. `main` of tests/unit/skip.c is compiled
# as test_main_unit_skip and found by tests/util/together.c; build/<preset>/unit_skip is a link to
# takt_tests, which looks at the name it was called by.

# These define functions of the C library or of Takt or another main, or have their own objects.
set(lone_programs unit_trainer_power unit_lang_sites unit_example_short unit_serve_futex)
set(together_files "")
set(together_list "")

# A row of together_list for `file`, which is part of takt_tests as `name`.
function(takt_test_together name file)
  set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS main=test_main_${name})
  file(STRINGS ${file} arguments REGEX "^int main\\(int|^GUIDE_MAIN")
  if(arguments)
    list(APPEND together_list "WITH_ARGUMENTS(${name})")
  else()
    list(APPEND together_list "WITHOUT_ARGUMENTS(${name})")
  endif()
  set(together_list ${together_list} PARENT_SCOPE)
  file(CREATE_LINK takt_tests ${PROJECT_BINARY_DIR}/${name} SYMBOLIC)
  add_custom_target(${name} DEPENDS takt_tests)
endfunction()

file(GLOB program_files ${glob} tests/*/*.c)
foreach(file IN LISTS program_files)
  cmake_path(GET file STEM stem)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME folder)
  set(name ${folder}_${stem})
  if(folder IN_LIST skipped_folders OR folder STREQUAL package OR NOT TARGET takt_static
     OR (CMAKE_CROSSCOMPILING AND NOT name IN_LIST cross_programs))
    continue()
  endif()
  if(name IN_LIST lone_programs)
    if(IS_SYMLINK ${PROJECT_BINARY_DIR}/${name}) # the linker would write to what it points to
      file(REMOVE ${PROJECT_BINARY_DIR}/${name})
    endif()
    takt_test_program(${name} ${file})
    add_test(NAME ${name} COMMAND ${name})
  else()
    takt_test_together(${name} ${file})
    list(APPEND together_files ${file})
    add_test(NAME ${name} COMMAND takt_tests ${name})
  endif()
  takt_test_properties(${name} ${folder} program)
endforeach()

if(together_files)
  list(JOIN together_list "\n" together_rows)
  file(CONFIGURE OUTPUT ${TAKT_GEN}/tests/together.inc CONTENT "${together_rows}\n")
  takt_test_program(takt_tests ${together_files} tests/util/together.c)
endif()

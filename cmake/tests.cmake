# tests.cmake - every file of tests/<folder> is a test, found by name.
#
#   tests/<folder>/<name>.c       a program that may see src/; tests/util is linked in. takt_tests
#                                 holds them all (cmake/tests_together.cmake)
#   tests/kernel/*.c              together one program, check_kernels
#   tests/<folder>/<name>.py .sh  a script; names that begin with _ are helpers
#
# Labels: `program` or `script`; the folder; and one of fast, full, slow: slow for names that end in
# _slow, full for the folders below and the names in tests/full.txt, fast for the rest. All fast
# tests together take less than a minute.
set(full_folders package)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/full.txt)
file(STRINGS tests/full.txt full_tests REGEX "^[a-z]")
set(skipped_folders util kernel fuzz corpus)
find_package(Python3 COMPONENTS Interpreter)

# With this check gcc 13.3's code faults where it stores AVX-512 vectors in its frames; without it
# all kernels pass (GCC bug 110027 is alike).
set(stack_use 1)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(stack_use 0)
endif()

# Common properties of test `name` from `folder`; ARGN: further labels.
function(takt_test_properties name folder)
  set(length fast)
  string(REGEX REPLACE "_[0-9]+_of_[0-9]+$" "" whole ${name})
  if(name MATCHES "_slow$")
    set(length slow)
  elseif(folder IN_LIST full_folders OR whole IN_LIST full_tests)
    set(length full)
  endif()
  set(tmp ${PROJECT_BINARY_DIR}/tmp/${name})
  file(MAKE_DIRECTORY ${tmp})
  set_tests_properties(${name} PROPERTIES
    LABELS "${length};${folder};${ARGN}" SKIP_RETURN_CODE 77 TIMEOUT 1800
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    ENVIRONMENT "TAKT_TOOL=${PROJECT_BINARY_DIR}/takt;TAKT_TEST_TMP=${tmp};\
TAKT_BUILD_DIR=${PROJECT_BINARY_DIR};CC=${CMAKE_C_COMPILER};\
ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=${stack_use}:strict_string_checks=1:\
allocator_may_return_null=1:max_allocation_size_mb=2048;\
UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
endfunction()

# A program from `ARGN`, with what tests may see.
function(takt_test_program name)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:takt_test_fsync>)
  takt_test_flags(${name})
  target_link_libraries(${name} PRIVATE $<TARGET_NAME_IF_EXISTS:takt_test_util> takt_measure_static)
  # Each would hold all of the library's debug information; preset dev and sanitizers keep it.
  target_link_options(${name} PRIVATE $<$<CONFIG:Release>:-Wl,--strip-debug>)
endfunction()

# Emulation is slow: a cross build runs what another processor could do differently.
set(cross_programs model_same_bits model_train_digests unit_half unit_dtype unit_philox unit_digest
    unit_map_semantics unit_kernel_registry)
set(cross_scripts guard_instructions) # counted by QEMU

include(cmake/tests_together.cmake)
include(cmake/test_sites.cmake)
include(cmake/tests_kernels.cmake)
include(cmake/tests_sve.cmake)
include(cmake/tests_examples.cmake)

# Scripts look at the sources, the libraries and the command of a build for this machine.
file(GLOB script_files ${glob} tests/*/*.py tests/*/*.sh)
foreach(file IN LISTS script_files)
  cmake_path(GET file STEM stem)
  cmake_path(GET file EXTENSION extension)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME folder)
  if(stem MATCHES "^_" OR folder IN_LIST skipped_folders
     OR (CMAKE_CROSSCOMPILING AND NOT "${folder}_${stem}" IN_LIST cross_scripts)
     OR (TAKT_INSTRUMENTED AND folder MATCHES "^(lint|package)$"))
    continue()
  endif()
  if(extension STREQUAL ".py")
    add_test(NAME ${folder}_${stem} COMMAND ${Python3_EXECUTABLE} -B ${file})
  else()
    add_test(NAME ${folder}_${stem} COMMAND sh ${file})
  endif()
  takt_test_properties(${folder}_${stem} ${folder} script)
endforeach()
if(TEST guard_overhead) # nanoseconds: a neighbour on the same core would be counted
  set_tests_properties(guard_overhead PROPERTIES RUN_SERIAL TRUE)
endif()

# fuzz.cmake - tests/fuzz/fz_<target>.c, over the inputs of tests/corpus/<target>.
#
# With TAKT_FUZZ (preset fuzz) libFuzzer drives each target for TAKT_FUZZ_SECONDS, by the changes
# of mut_<target>.c where the format has lengths that must fit; otherwise
# main_replay.c feeds it the corpus, with any compiler and on any machine.
file(GLOB fuzz_files ${glob} tests/fuzz/fz_*.c)
# For a campaign on a machine without clang: libFuzzer and the C library are linked in. The flag of
# the compiler would add the run-time library of the sanitizers, which needs a dynamic linker.
if(TAKT_FUZZ_STATIC)
  execute_process(COMMAND ${CMAKE_C_COMPILER}
                          --print-file-name=libclang_rt.fuzzer-${CMAKE_SYSTEM_PROCESSOR}.a
                  OUTPUT_VARIABLE fuzzer_archive OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(TAKT_FUZZ AND TARGET takt_tool)
  # The targets need neither.
  set_target_properties(takt takt_measure takt_tool PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
foreach(file IN LISTS fuzz_files)
  if(NOT TARGET takt_static)
    break()
  endif()
  cmake_path(GET file STEM stem)
  string(REGEX REPLACE "^fz_" "" target ${stem})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/corpus/${target})
  if(TAKT_FUZZ)
    string(REPLACE e2e onnx format ${target}) # a text has no fields, and is changed as bytes
    file(GLOB mutator ${glob} tests/fuzz/mut_${format}.c)
    # What it reaches by itself is not what the input reaches.
    set_source_files_properties(${mutator} tests/fuzz/kept_inputs.c PROPERTIES COMPILE_OPTIONS
      "-fno-sanitize=fuzzer-no-link;-fno-sanitize-coverage=inline-8bit-counters,pc-table")
    add_executable(${stem} ${file} ${mutator})
    if(TAKT_FUZZ_STATIC)
      target_sources(${stem} PRIVATE tests/fuzz/kept_inputs.c)
      target_link_options(${stem} PRIVATE -static -Wl,--wrap=LLVMFuzzerTestOneInput)
      target_link_libraries(${stem} PRIVATE ${fuzzer_archive} stdc++)
    else()
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    endif()
    add_test(NAME fuzz_${target} COMMAND ${PROJECT_SOURCE_DIR}/scripts/fuzz
             --smoke --build ${PROJECT_BINARY_DIR} ${target})
    set_tests_properties(fuzz_${target} PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 3600)
  else()
    add_executable(${stem} ${file} tests/fuzz/main_replay.c)
    if(NOT IS_DIRECTORY ${corpus})
      set(corpus "")
    endif()
    add_test(NAME replay_${target} COMMAND ${stem} ${corpus})
    takt_test_properties(replay_${target} fuzz program)
  endif()
  takt_test_flags(${stem})
  target_link_options(${stem} PRIVATE $<$<CONFIG:Release>:-Wl,--strip-debug>)
  target_link_libraries(${stem} PRIVATE $<TARGET_NAME_IF_EXISTS:takt_test_util> takt_measure_static)
endforeach()

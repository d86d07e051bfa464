# levels.cmake - how far a compiler goes with each file, which levels.txt lists.
#
# What reads, checks and reports is not worth -O3: a wheel has to stay small, and a run spends its
# time in src/kernel and src/backend. What nobody waits for is compiled for size; gcc then sees
# less of what is initialised, and would warn of values that are. A loop over all weights of a
# model is waited for, and so are rules over sets of tuples and samplers over a vocabulary. Scalar
# kernels are for comparison where every processor has NEON, and on x86-64 for those without AVX2,
# which are several times slower anyway; -O3 makes them twice as large. SVE of 512 bits is rare.
# Padding that aligns functions and jumps is for loops that run often. Kernels of vectors that are
# rarely used are lean: without copies of loops over what remains of a row. Functions have
# sections of their own, so that a library leaves out what only tests call; all of a kernel is
# used.
set(level_small -Os)
set(level_normal -O2)
set(level_fast "")
set(level_lean "")
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  list(APPEND level_small -Wno-maybe-uninitialized)
  list(APPEND level_normal -fno-align-functions -fno-align-jumps -fno-align-labels)
  list(APPEND level_lean -fno-tree-loop-vectorize -fno-version-loops-for-strides -fno-split-loops
       -fno-ipa-cp-clone)
endif()
set(takt_small "$<$<CONFIG:Release>:${level_small}>")

set(has_vectors ${takt_sources})
list(FILTER has_vectors INCLUDE REGEX "_(neon|avx2).c$")
list(TRANSFORM has_vectors REPLACE "^.*/([a-z0-9_]+)_(neon|avx2).c$" "\\1")
list(REMOVE_ITEM has_vectors ggml_f32) # takt_ggml_decode() takes scalar for all weights
list(JOIN has_vectors "|" has_vectors)
if(NOT has_vectors)
  set(has_vectors "^$")
endif()

set(leveled ${takt_sources} ${python_c})
set(list ${PROJECT_SOURCE_DIR}/cmake/levels.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
file(STRINGS ${list} rows REGEX "^[a-z]")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^([a-z]+) (.*)$" "\\1;(^|/)\\2" row "${row}")
  list(GET row 0 level)
  list(GET row 1 start)
  set(files ${leveled})
  list(FILTER files INCLUDE REGEX "${start}")
  if(NOT DEFINED level_${level} OR NOT files)
    message(FATAL_ERROR "${list}: no such level, or no such files: ${row}")
  endif()
  set_property(SOURCE ${files} PROPERTY TAKT_LEVEL ${level})
endforeach()

foreach(file IN LISTS leveled)
  get_property(level SOURCE ${file} PROPERTY TAKT_LEVEL)
  if(file MATCHES "/(${has_vectors})_scalar.c$|_sve512.c$")
    set(level small)
  elseif(file MATCHES "/kernel/.*_scalar.c$|/map_[iub].*_sve256.c$")
    set(level normal)
  elseif(NOT level)
    set(level fast)
  endif()
  set(options ${level_${level}})
  if(file MATCHES "\\.c$" AND NOT file MATCHES "/kernel/" AND file IN_LIST takt_sources)
    list(PREPEND options -ffunction-sections)
  endif()
  set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:${options}>")
endforeach()

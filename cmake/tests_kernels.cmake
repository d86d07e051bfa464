# tests_kernels.cmake - check_kernels, all kernels held against their references, and its tests.

# check_kernels with the options `ARGN`.
function(takt_test_kernels name)
  add_test(NAME ${name} COMMAND check_kernels ${ARGN})
  takt_test_properties(${name} kernel program)
endfunction()

# The same, cut into `parts` tests: a sanitizer makes one process the longest test by far.
function(takt_test_kernels_cut name parts)
  foreach(part RANGE 1 ${parts})
    math(EXPR index "${part} - 1")
    takt_test_kernels(${name}_${part}_of_${parts} ${ARGN} --part ${index}/${parts})
  endforeach()
endfunction()

set(cross_families map_f32 map_i32 reduce_f32 rows_f32 convert pack)

if(check_files AND TARGET takt_static)
  takt_test_program(check_kernels ${check_files})
  if(CMAKE_CROSSCOMPILING)
    foreach(family IN LISTS cross_families)
      takt_test_kernels(check_kernels_${family} --family ${family})
    endforeach()
  else()
    if(TAKT_SANITIZE)
      takt_test_kernels_cut(check_kernels 8 --once)
      takt_test_kernels_cut(check_kernels_cuda 8 --cuda)
    else()
      takt_test_kernels(check_kernels --once)
      takt_test_kernels(check_kernels_cuda --cuda)
    endif()
    takt_test_kernels(check_kernels_sweep --sweep tile,prefetch --family attention)
  endif()
endif()

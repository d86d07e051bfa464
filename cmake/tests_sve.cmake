# tests_sve.cmake - check_kernels under emulation with scalable vectors.
# Scalable vectors of each length, which few machines have: emulated, on the families that use them.
set(sve_families map_f32 map_f64 map_i32 map_u64 map_bool reduce_f32 reduce_i64 rows_f32 rows_f64
    convert depthwise_f32 pool_f32 winograd_f32 winograd_dy_f32)
find_program(TAKT_QEMU_AARCH64 qemu-aarch64)
if(TARGET check_kernels AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND TAKT_QEMU_AARCH64
   AND NOT TAKT_INSTRUMENTED)
  set(emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
  if(NOT emulator)
    set(emulator ${TAKT_QEMU_AARCH64})
  endif()
  foreach(family IN LISTS sve_families)
    foreach(bits 256 512)
      math(EXPR quads "${bits} / 128")
      set(name check_kernels_sve${bits}_${family})
      add_test(NAME ${name} COMMAND ${emulator} -cpu max,sve-max-vq=${quads}
               $<TARGET_FILE:check_kernels> --isa sve${bits} --family ${family})
      takt_test_properties(${name} kernel program)
    endforeach()
  endforeach()
endif()

# vectors.cmake - <immintrin.h> read once for an ISA, not again by each of its fifty variants: gcc
# takes 0.4 s for it, which was a fourteenth of the time that the library compiles.
#
# A precompiled header needs the very flags of the files that use it; with others gcc reads the
# header itself. ccache would have to give up on such files, so builds with it have none.
set(takt_vectors "")
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_BUILD_TYPE STREQUAL Release AND NOT TAKT_INSTRUMENTED
   AND NOT CMAKE_C_COMPILER_LAUNCHER)
  foreach(isa avx2 avx512)
    if(isa IN_LIST takt_isa_here)
      list(APPEND takt_vectors ${isa})
    endif()
  endforeach()
endif()
separate_arguments(vector_flags NATIVE_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_RELEASE}")
foreach(isa IN LISTS takt_vectors)
  set(head ${TAKT_GEN}/vectors_${isa}.h)
  takt_generate(vectors_${isa}.h "#include <immintrin.h>\n")
  add_custom_command(OUTPUT ${head}.gch
    COMMAND ${CMAKE_C_COMPILER} ${vector_flags} -fPIC ${takt_compile_flags} -std=c17
      ${takt_isa_flags_${isa}} -x c-header -o ${head}.gch ${head}
    DEPENDS ${head} COMMENT "Reading immintrin.h for ${isa}" VERBATIM)
endforeach()

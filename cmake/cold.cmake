# cold.cmake - what reads, checks and reports is not worth -O3: a wheel has to stay small, and a run
# spends its time in src/kernel and src/backend. What nobody waits for is compiled for size; gcc
# then sees less of what is initialised, and would warn of values that are. A loop over all weights
# of a model is waited for, and so are rules over sets of tuples and samplers over a vocabulary.
# Scalar kernels are for comparison where every processor has NEON, and on x86-64 for those without
# AVX2, which are several times slower anyway; -O3 makes them twice as large. SVE of 512 bits is
# rare. Padding that aligns functions and jumps is for loops that run often.
# Functions have sections of their own, so that a library leaves out what only tests call; all of a
# kernel is used.
set(takt_small $<$<CONFIG:Release>:-Os>
               $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
set(for_size api/logic api/text api/train backend/cuda grad io lang measure op pass serve shrink
    stats text/grammar text/jinja train verify)
list(JOIN for_size "|" for_size)
set(planned api base interp ir logic os plan text verify)
list(JOIN planned "|" planned)
set(reports "api/(build|derive|layers|lengths|model|opts|params|plan|require|session/shared|\
weights)|ir/(ports|print)|\
logic/(datalog_|formula_text|proof_check)|\
plan/(away|donate|fault|finish|forms|guests|held|kept|lengths|opened|point|ports|remat|repeat|\
report_|state|swap|variants)|text/(calls|decoder|read_|regex_parse|write_)|\
verify/(certificate|diff|precision|program|property|prove|vnnlib_)|\
backend/cpu/(cost_model|cut|map_compile|map_link|map_match|matrix|narrow|rnn/match[_a-z]*|\
step/conv|step/narrow_conv|step/winograd|table)[.]c$")
set(planned_flags -O2)
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  list(APPEND planned_flags -fno-align-functions -fno-align-jumps -fno-align-labels)
endif()
set(has_vectors ${takt_sources})
list(FILTER has_vectors INCLUDE REGEX "_(neon|avx2).c$")
list(TRANSFORM has_vectors REPLACE "^.*/([a-z0-9_]+)_(neon|avx2).c$" "\\1")
list(REMOVE_ITEM has_vectors ggml_f32) # takt_ggml_decode() takes scalar for all weights
list(JOIN has_vectors "|" has_vectors)
if(NOT has_vectors)
  set(has_vectors "^$")
endif()
foreach(file IN LISTS takt_sources)
  if(file MATCHES "\\.c$" AND NOT file MATCHES "/kernel/")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
                 $<$<CONFIG:Release>:-ffunction-sections>)
  endif()
  if(file MATCHES "(^|/)src/(io/gguf/split.c$|pass/magnitude.c$|shrink/svd.c$|op/util/datalog_)" OR
     file MATCHES "(^|/)src/text/(candidates.c$|sampler/)")
    continue()
  elseif(file MATCHES "(^|/)src/verify/(alpha|leaf|net_sums|products|region|terms|values).c$")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
                 "$<$<CONFIG:Release>:${planned_flags}>")
  elseif(file MATCHES "(^|/)src/(${for_size})/|/(${has_vectors})_scalar.c$|_sve512.c$" OR
         file MATCHES "(^|/)src/(${reports})")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${takt_small})
  elseif(file MATCHES "(^|/)src/(${planned})/")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
                 "$<$<CONFIG:Release>:${planned_flags}>")
  elseif(file MATCHES "/kernel/.*_scalar.c$|/map_[iub].*_sve256.c$")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
  endif()
endforeach()

# cold.cmake - what reads, checks and reports is not worth -O3: a wheel has to stay small, and a run
# spends its time in src/kernel and src/backend. Scalar kernels are for processors without vectors
# and for comparison; -O3 makes them half as large again. What nobody waits for is compiled for
# size; gcc then sees less of what is initialised, and would warn of values that are. A loop over
# all weights of a model is waited for, and so are rules over sets of tuples.
set(takt_small $<$<CONFIG:Release>:-Os>
               $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
set(for_size backend/cuda grad io lang measure op pass serve shrink stats text/grammar text/jinja
    train)
list(JOIN for_size "|" for_size)
set(reports "logic/(datalog_|formula_text|proof_check)|verify/(certificate|diff_|vnnlib_)")
foreach(file IN LISTS takt_sources)
  if(file MATCHES "(^|/)src/(pass/magnitude.c$|op/util/datalog_)")
    continue()
  elseif(file MATCHES "(^|/)src/((${for_size})/|${reports})")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${takt_small})
  elseif(file MATCHES "(^|/)src/(api|base|interp|ir|os|plan|text)/|/kernel/.*_scalar.c$")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
  endif()
endforeach()

# cold.cmake - what reads, checks and reports is not worth -O3: a wheel has to stay small, and a run
# spends its time in src/kernel and src/backend. What nobody waits for is compiled for size; gcc
# then sees less of what is initialised, and would warn of values that are.
set(takt_small $<$<CONFIG:Release>:-Os>
               $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
set(for_size grad io/hf io/onnx io/tflite lang measure op serve text/grammar text/jinja
             api/measure api/monitor api/report)
list(JOIN for_size "|" for_size)
foreach(file IN LISTS takt_sources)
  if(file MATCHES "(^|/)src/(${for_size})/")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${takt_small})
  elseif(file MATCHES "(^|/)src/(api|io|pass|shrink|train)/")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
  endif()
endforeach()

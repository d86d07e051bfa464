# cold.cmake - what reads, checks and reports is not worth -O3: a wheel has to stay small, and a run
# spends its time in src/kernel and src/backend. What nobody waits for is compiled for size; gcc
# then sees less of what is initialised, and would warn of values that are.
set(takt_small $<$<CONFIG:Release>:-Os>
               $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
set(cold_for_size "(^|/)src/(measure|serve|api/(measure|monitor|report)|text/(grammar|jinja))/")
foreach(file IN LISTS takt_sources)
  if(file MATCHES "${cold_for_size}")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${takt_small})
  elseif(file MATCHES "(^|/)src/(api|lang|io/(onnx|tflite|hf))/")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
  endif()
endforeach()

# cold.cmake - what reads, checks and reports is not worth -O3: a wheel has to stay small, and a run
# spends its time in src/kernel and src/backend.
foreach(file IN LISTS takt_sources)
  if(file MATCHES "(^|/)src/(api|lang|measure|serve|io/(onnx|tflite|hf))/")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
  endif()
endforeach()

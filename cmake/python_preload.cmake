# python_preload.cmake - the Python package in a build with sanitizers.
#
# An interpreter that was not built with a sanitizer preloads its run-time library:
# tests/python/_runner.py finds its path in <build>/python/preload. clang's shared ThreadSanitizer
# does not start in a program without it; gcc's has the same interface and does.
set(preload "")      # the path, or empty
set(preload_link "") # for the command, which then uses the preloaded library too
if(TAKT_SANITIZE MATCHES "^(address|thread)" AND NOT TAKT_FUZZ)
  if(TAKT_SANITIZE MATCHES "^address" AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    set(runtime ${CMAKE_C_COMPILER} -print-file-name=libasan.so)
  elseif(TAKT_SANITIZE MATCHES "^address")
    set(preload_link -shared-libsan)
    set(runtime ${CMAKE_C_COMPILER}
        -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so)
  else()
    set(runtime gcc -print-file-name=libtsan.so)
  endif()
  execute_process(COMMAND ${runtime} OUTPUT_VARIABLE preload OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(IS_ABSOLUTE "${preload}")
    file(WRITE ${PROJECT_BINARY_DIR}/python/preload ${preload})
  else()
    set(preload "")
  endif()
endif()

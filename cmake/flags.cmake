# flags.cmake - how all of Takt is compiled; users of the library inherit nothing of it.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -g1: functions and lines, for profilers and backtraces. Where variables are, which preset dev is
# for, would be a third of the time that kernels take to compile. The code is the same.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1")
if(SKBUILD) # a wheel is stripped
  set(CMAKE_C_FLAGS_RELEASE "-O3")
endif()
set(CMAKE_C_FLAGS_DEBUG "-Og -g")
set(CMAKE_C_FLAGS_MINSIZEREL "-Os")

# -ffp-contract=off: fma is written out where it is meant, so every machine gives the same bits.
set(flags -Wall -Wextra -Wconversion -Wshadow -Wvla -ffp-contract=off -fno-math-errno
          -fvisibility=hidden)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  list(APPEND flags -Wno-pass-failed) # hints to vectorise that a low -O does not follow
endif()
if(TAKT_WERROR)
  list(APPEND flags -Werror)
endif()
if(TAKT_SANITIZE)
  list(APPEND flags -fsanitize=${TAKT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  set(takt_link_flags -fsanitize=${TAKT_SANITIZE})
elseif(CMAKE_BUILD_TYPE MATCHES "Rel")
  # Not with sanitizers: they enlarge frames and check more than fortify does.
  list(APPEND flags -Wframe-larger-than=8192 -fstack-protector-strong -U_FORTIFY_SOURCE
                    -D_FORTIFY_SOURCE=2)
  # Debuggers unwind by .debug_frame; tables in the loaded image are a twelfth of the library.
  list(APPEND flags -fno-asynchronous-unwind-tables -fno-unwind-tables)
endif()
if(TAKT_NATIVE)
  check_c_compiler_flag(-march=native TAKT_HAS_MARCH_NATIVE)
  # not -mcpu=native, which would contradict the -march= of kernels
  if(TAKT_HAS_MARCH_NATIVE)
    list(APPEND flags -march=native)
  endif()
endif()
# On ARM, GNU ld writes each pointer twice: into the table of relocations and where it belongs.
check_linker_flag(C -Wl,--no-apply-dynamic-relocs TAKT_HAS_NO_APPLY_RELOCS)
if(TAKT_HAS_NO_APPLY_RELOCS)
  list(APPEND takt_link_flags -Wl,--no-apply-dynamic-relocs)
endif()
if(CMAKE_BUILD_TYPE STREQUAL MinSizeRel)
  list(APPEND flags -ffunction-sections -fdata-sections)
  list(APPEND takt_link_flags -Wl,--gc-sections)
endif()
separate_arguments(more NATIVE_COMMAND "${TAKT_FLAGS}")
set(takt_compile_flags ${flags} ${more})
# Then the libraries have symbols and needs that are not theirs, and are not for installing.
string(REGEX MATCH "-fsanitize|-fprofile" TAKT_INSTRUMENTED "${takt_compile_flags}")

# Give `target` the flags above.
function(takt_flags target)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:${takt_compile_flags}>")
  target_link_options(${target} PRIVATE ${takt_link_flags})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# The same for tests, which see everything and may use more stack than the library promises. gcc 12
# for ARM ends with an internal error where it vectorises a maximum of differences (fmax of fabs).
function(takt_test_flags target)
  takt_flags(${target})
  # Half of what there is to compile, and most of it runs once: -O2 takes half the time of -O3.
  target_compile_options(${target} PRIVATE -Wno-frame-larger-than $<$<CONFIG:Release>:-O2>
                         $<$<C_COMPILER_ID:GNU>:-fno-tree-vectorize>)
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${CMAKE_CROSSCOMPILING}>:TEST_EMULATED=1>)
  target_include_directories(${target} PRIVATE include src tests ${TAKT_GEN})
endfunction()

# isa.cmake - the only place that knows what an ISA is; its rows are those of src/kernel/isa.h.

# Instrumented code of variants that the machine cannot run anyway costs minutes of compiling.
set(TAKT_WITHOUT_ISA "" CACHE STRING "ISAs whose variants are left out of the build")
# Emulators do not know all instructions: what none can run is compiled to see that it can be.
set(TAKT_UNRUN_ISA "" CACHE STRING "ISAs whose variants are compiled in a hurry, with -O1")

# Kernels compute addresses in unrolled loops. Checks of each sum and of each access took most of
# the time that they compile (conv_f32_neon: 35 s without, 94 s with; ggml_i8_i8mm: over 200 s).
# ASan sees what such an access reaches, vectors need no alignment, and the scalar variants keep
# all checks.
set(takt_isa_checks "")
if(TAKT_SANITIZE MATCHES "undefined|pointer-overflow")
  set(takt_isa_checks -fno-sanitize=pointer-overflow,alignment,null,object-size)
endif()

# takt_isa(name [ON processor...] [FLAGS flag...] [LEAVES_TO isa]): files
# `<family>_<name>[_<note>].c` are compiled with these flags, on these processors only, and not
# without the ISA whose variants they call.
function(takt_isa name)
  cmake_parse_arguments(PARSE_ARGV 1 isa "" "LEAVES_TO" "ON;FLAGS")
  set(takt_isa_known ${takt_isa_known} ${name} PARENT_SCOPE)
  if(name IN_LIST TAKT_WITHOUT_ISA)
    return()
  endif()
  if(isa_LEAVES_TO AND NOT isa_LEAVES_TO IN_LIST takt_isa_here)
    return()
  endif()
  if(NOT isa_ON OR CMAKE_SYSTEM_PROCESSOR IN_LIST isa_ON)
    set(takt_isa_here ${takt_isa_here} ${name} PARENT_SCOPE)
    if(name IN_LIST TAKT_UNRUN_ISA)
      list(APPEND isa_FLAGS -O1)
    endif()
    set(takt_isa_flags_${name} ${isa_FLAGS} ${takt_isa_checks} PARENT_SCOPE)
  endif()
endfunction()

set(x86 ON x86_64 AMD64)
set(arm ON aarch64 arm64)
set(avx2 -mavx2 -mfma -mf16c)
set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)

takt_isa(scalar FLAGS -fno-tree-vectorize) # the reference must not owe its speed to luck
takt_isa(neon ${arm})
takt_isa(dotprod ${arm} FLAGS -march=armv8.2-a+dotprod)
takt_isa(i8mm ${arm} FLAGS -march=armv8.2-a+dotprod+i8mm LEAVES_TO dotprod)
takt_isa(fp16 ${arm} FLAGS -march=armv8.2-a+fp16)
takt_isa(fhm ${arm} FLAGS -march=armv8.2-a+fp16+fp16fml)
takt_isa(bf16 ${arm} FLAGS -march=armv8.2-a+dotprod+bf16)
takt_isa(sve256 ${arm} FLAGS -march=armv8.2-a+sve -msve-vector-bits=256)
takt_isa(sve512 ${arm} FLAGS -march=armv8.2-a+sve -msve-vector-bits=512)
takt_isa(avx2 ${x86} FLAGS ${avx2})
takt_isa(avx512 ${x86} FLAGS ${avx512})
takt_isa(avx512vnni ${x86} FLAGS ${avx512} -mavx512vnni LEAVES_TO avx512)
takt_isa(avx512bf16 ${x86} FLAGS ${avx512} -mavx512bf16)
takt_isa(avx512fp16 ${x86} FLAGS ${avx512} -mavx512fp16)
takt_isa(amx ${x86} FLAGS ${avx512} -mavx512vnni -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16
         LEAVES_TO avx512vnni)
takt_isa(wasm ON wasm32 wasm64 FLAGS -msimd128)

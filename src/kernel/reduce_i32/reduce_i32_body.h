/* reduce_i32_body.h - every variant of reduce_i32 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T int32_t
#define U uint32_t
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX

#include "kernel/reduce/int_body.h"

TAKT_KERNELS(reduce_i32, TAKT_KERNEL(reduce_i32, SIMD_NAME, SIMD_RANK, reduce, NULL));

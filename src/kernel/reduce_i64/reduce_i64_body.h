/* reduce_i64_body.h - every variant of reduce_i64 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T int64_t
#define U uint64_t
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX

#include "kernel/reduce/int_body.h"

TAKT_KERNELS(reduce_i64, TAKT_KERNEL(reduce_i64, SIMD_NAME, SIMD_RANK, reduce, NULL));

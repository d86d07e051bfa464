/* reduce_u64_body.h - every variant of reduce_u64 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T uint64_t
#define U uint64_t
#define LOWEST 0
#define HIGHEST UINT64_MAX

#include "kernel/reduce/int_body.h"

TAKT_KERNELS(reduce_u64, TAKT_KERNEL(reduce_u64, SIMD_NAME, SIMD_RANK, reduce, NULL));

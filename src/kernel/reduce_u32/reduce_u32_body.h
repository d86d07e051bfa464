/* reduce_u32_body.h - every variant of reduce_u32 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T uint32_t
#define U uint32_t
#define LOWEST 0
#define HIGHEST UINT32_MAX

#include "kernel/reduce/int_body.h"

TAKT_KERNELS(reduce_u32, TAKT_KERNEL(reduce_u32, SIMD_NAME, SIMD_RANK, reduce, NULL));

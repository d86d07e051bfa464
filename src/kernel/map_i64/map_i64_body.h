/* map_i64_body.h - every variant of map_i64 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T int64_t
#define U uint64_t
#define BITS 64
#define IS_SIGNED 1

#include "kernel/map/int_body.h"

TAKT_KERNELS(map_i64, TAKT_KERNEL(map_i64, SIMD_NAME, SIMD_RANK, map_COPY, &table));

/* map_i32_body.h - every variant of map_i32 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T int32_t
#define U uint32_t
#define BITS 32
#define IS_SIGNED 1

#include "kernel/map/int_body.h"

TAKT_KERNELS(map_i32, TAKT_KERNEL(map_i32, SIMD_NAME, SIMD_RANK, map_COPY, &table));

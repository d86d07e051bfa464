/* map_u32_body.h - every variant of map_u32 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T uint32_t
#define U uint32_t
#define BITS 32
#define IS_SIGNED 0

#include "kernel/map/int_body.h"

TAKT_KERNELS(map_u32, TAKT_KERNEL(map_u32, SIMD_NAME, SIMD_RANK, map_COPY, &table));

/* map_u64_body.h - every variant of map_u64 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T uint64_t
#define U uint64_t
#define BITS 64
#define IS_SIGNED 0

#include "kernel/map/int_body.h"

TAKT_KERNELS(map_u64, TAKT_KERNEL(map_u64, SIMD_NAME, SIMD_RANK, map_COPY, &table));

/* reduce_f32_body.h - every variant of reduce_f32 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T float
#define LANES VF
#define VEC(name) vf_##name
#define MASK(name) vm_##name

typedef vf vec;

#include "kernel/reduce/float_body.h"

TAKT_KERNELS(reduce_f32, TAKT_KERNEL(reduce_f32, SIMD_NAME, SIMD_RANK, reduce, NULL));

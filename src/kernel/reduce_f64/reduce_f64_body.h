/* reduce_f64_body.h - every variant of reduce_f64 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T double
#define LANES VD
#define VEC(name) vd_##name
#define MASK(name) vmd_##name

typedef vd vec;

#include "kernel/reduce/float_body.h"

TAKT_KERNELS(reduce_f64, TAKT_KERNEL(reduce_f64, SIMD_NAME, SIMD_RANK, reduce, NULL));

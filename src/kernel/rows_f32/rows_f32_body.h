/* rows_f32_body.h - every variant of rows_f32 is this, compiled for its ISA. */
#include "kernel/math_f32/exp_f32.h"
#include "kernel/math_f32/log_f32.h"

#define T float
#define LANES VF
#define VEC(name) vf_##name
#define MATH(name) name##_f32

typedef vf vec;

#include "kernel/rows/float_body.h"

TAKT_KERNELS(rows_f32, TAKT_KERNEL(rows_f32, SIMD_NAME, SIMD_RANK, rows_run, NULL));

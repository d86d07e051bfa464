/* rows_f64_body.h - every variant of rows_f64 is this, compiled for its ISA. */
#include "kernel/math_f64/exp_f64.h"
#include "kernel/math_f64/log_f64.h"

#define T double
#define LANES VD
#define VEC(name) vd_##name
#define MATH(name) name##_f64
#define exp_down_f64 exp_f64

typedef vd vec;

#include "kernel/rows/float_body.h"

TAKT_KERNELS(rows_f64, TAKT_KERNEL(rows_f64, SIMD_NAME, SIMD_RANK, rows_run, NULL));

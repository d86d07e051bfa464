/* rnn_f64_body.h - every variant of rnn_f64 is this, compiled for its ISA. */
#include "kernel/math_f64/exp_f64.h"
#include "kernel/rnn/rnn.h"

#define T double
#define LANES VD
#define VEC(name) vd_##name
#define MATH(name) name##_f64

typedef vd vec;

static inline vec round_to(vec x, const takt_rnn_rounding rounding)
{
    (void)rounding;
    return x;
}

#include "kernel/rnn/float_body.h"

TAKT_KERNELS(rnn_f64, TAKT_KERNEL(rnn_f64, SIMD_NAME, SIMD_RANK, rnn_run, NULL));

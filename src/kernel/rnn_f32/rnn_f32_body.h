/* rnn_f32_body.h - every variant of rnn_f32 is this, compiled for its ISA. */
#include "kernel/math_f32/exp_f32.h"
#include "kernel/rnn/rnn.h"

#define T float
#define LANES VF
#define VEC(name) vf_##name
#define MATH(name) name##_f32

typedef vf vec;

/* A value after a round trip through memory of a narrower type. */
static inline vec round_to(vec x, const takt_rnn_rounding rounding)
{
    uint16_t narrow[VF];
    if (rounding == TAKT_RNN_OWN)
        return x;
    if (rounding == TAKT_RNN_F16) {
        vf_store_f16(narrow, x);
        return vf_load_f16(narrow);
    }
    vf_store_bf16(narrow, x);
    return vf_load_bf16(narrow);
}
#define ROUNDS

#include "kernel/rnn/float_body.h"

TAKT_KERNELS(rnn_f32, TAKT_KERNEL(rnn_f32, SIMD_NAME, SIMD_RANK, rnn_run, NULL));

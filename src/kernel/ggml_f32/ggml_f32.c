/* ggml_f32.c - ggml's block formats: names and sizes; numbers rounded to blocks of 8 bits. */
#include "kernel/ggml_f32/ggml_f32.h"

#include <math.h>

#include "kernel/simd/half.h"

const takt_ggml_info takt_ggml_formats[TAKT_GGML_FORMATS] = {
    [TAKT_GGML_Q4_0] = {"q4_0", 32, 18, 2},         [TAKT_GGML_Q4_1] = {"q4_1", 32, 20, 3},
    [TAKT_GGML_Q5_0] = {"q5_0", 32, 22, 6},         [TAKT_GGML_Q5_1] = {"q5_1", 32, 24, 7},
    [TAKT_GGML_Q8_0] = {"q8_0", 32, 34, 8},         [TAKT_GGML_Q2_K] = {"q2_k", 256, 84, 10},
    [TAKT_GGML_Q3_K] = {"q3_k", 256, 110, 11},      [TAKT_GGML_Q4_K] = {"q4_k", 256, 144, 12},
    [TAKT_GGML_Q5_K] = {"q5_k", 256, 176, 13},      [TAKT_GGML_Q6_K] = {"q6_k", 256, 210, 14},
    [TAKT_GGML_IQ4_NL] = {"iq4_nl", 32, 18, 20},    [TAKT_GGML_IQ4_XS] = {"iq4_xs", 256, 136, 23},
    [TAKT_GGML_MXFP4] = {"mxfp4", 32, 17, 39},      [TAKT_GGML_NVFP4] = {"nvfp4", 64, 36, 40},
    [TAKT_GGML_Q1_0] = {"q1_0", 128, 18, 41},       [TAKT_GGML_Q2_0] = {"q2_0", 64, 18, 42},
    [TAKT_GGML_TQ1_0] = {"tq1_0", 256, 54, 34},     [TAKT_GGML_TQ2_0] = {"tq2_0", 256, 66, 35},
    [TAKT_GGML_IQ1_S] = {"iq1_s", 256, 50, 19},     [TAKT_GGML_IQ1_M] = {"iq1_m", 256, 56, 29},
    [TAKT_GGML_IQ2_XXS] = {"iq2_xxs", 256, 66, 16}, [TAKT_GGML_IQ2_XS] = {"iq2_xs", 256, 74, 17},
    [TAKT_GGML_IQ2_S] = {"iq2_s", 256, 82, 22},     [TAKT_GGML_IQ3_XXS] = {"iq3_xxs", 256, 98, 18},
    [TAKT_GGML_IQ3_S] = {"iq3_s", 256, 110, 21},
};

enum { SIZE = 32, BYTES = 34 };

static void put_scale(float d, uint8_t *to)
{
    const uint16_t bits = half_to_f16(d);
    to[0] = (uint8_t)(bits & 255);
    to[1] = (uint8_t)(bits >> 8);
}

/* Half away from zero; at most 127, which 1 / d may exceed by a rounding or by overflow. NaN, which
 * is 0 times an infinite 1 / d, gives 0. */
static int8_t whole_of(float x)
{
    const float held = x > 127 ? 127 : x < -127 ? -127 : x == x ? x : 0;
    const int whole = (int)held;
    const float rest = held - (float)whole;
    return (int8_t)(whole + (rest >= 0.5f) - (rest <= -0.5f));
}

static void round_block(const float *x, uint8_t *to)
{
    float most = 0;
    int is_finite = 1;
    for (size_t i = 0; i < SIZE; i++) {
        const float size = fabsf(x[i]);
        is_finite &= size < INFINITY;
        most = size > most ? size : most;
    }
    const float d = most / 127, by = d != 0 ? 1 / d : 0;
    put_scale(is_finite ? d : NAN, to);
    for (size_t i = 0; i < SIZE; i++)
        to[2 + i] = (uint8_t)whole_of(is_finite ? x[i] * by : 0);
}

void takt_ggml_round_q8_0(const float *x, size_t blocks, uint8_t *to)
{
    for (size_t i = 0; i < blocks; i++)
        round_block(x + i * SIZE, to + i * BYTES);
}

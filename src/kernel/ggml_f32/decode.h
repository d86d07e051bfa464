/* decode.h - floats of one block, of every format.
 *
 * Loops run over neighbouring weights of one scale, so that compilers vectorise them.
 */
#ifndef TAKT_KERNEL_GGML_F32_DECODE_H
#define TAKT_KERNEL_GGML_F32_DECODE_H

#include "kernel/ggml_f32/decode_grid.h"
#include "kernel/ggml_f32/ggml_f32.h"
#include "kernel/simd/half.h"

enum { SMALL = 32, HALF = 16, SUPER = 256 };

static float f16_at(const uint8_t *p)
{
    return half_from_f16((uint16_t)(p[0] | p[1] << 8));
}

static uint32_t u32_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- blocks of 32 ---- */

static void q4_0(const uint8_t *b, float *to)
{
    const float d = f16_at(b);
    for (int i = 0; i < HALF; i++) {
        to[i] = (float)((b[2 + i] & 15) - 8) * d;
        to[i + HALF] = (float)((b[2 + i] >> 4) - 8) * d;
    }
}

static void q4_1(const uint8_t *b, float *to)
{
    const float d = f16_at(b), m = f16_at(b + 2);
    for (int i = 0; i < HALF; i++) {
        to[i] = (float)(b[4 + i] & 15) * d + m;
        to[i + HALF] = (float)(b[4 + i] >> 4) * d + m;
    }
}

/* The fifth bits of weights i and i + 16 are bits i and i + 16 of a word. */
static void q5_0(const uint8_t *b, float *to)
{
    const float d = f16_at(b);
    const uint32_t high = u32_at(b + 2);
    for (int i = 0; i < HALF; i++) {
        to[i] = (float)((int)((b[6 + i] & 15U) | (high >> i & 1) << 4) - 16) * d;
        to[i + HALF] = (float)((int)((b[6 + i] >> 4U) | (high >> (i + HALF) & 1) << 4) - 16) * d;
    }
}

static void q5_1(const uint8_t *b, float *to)
{
    const float d = f16_at(b), m = f16_at(b + 2);
    const uint32_t high = u32_at(b + 4);
    for (int i = 0; i < HALF; i++) {
        to[i] = (float)(int)((b[8 + i] & 15U) | (high >> i & 1) << 4) * d + m;
        to[i + HALF] = (float)(int)((b[8 + i] >> 4U) | (high >> (i + HALF) & 1) << 4) * d + m;
    }
}

static void q8_0(const uint8_t *b, float *to)
{
    const float d = f16_at(b);
    for (int i = 0; i < SMALL; i++)
        to[i] = (float)(int8_t)b[2 + i] * d;
}

static const float curve[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};

/* 32 weights whose levels are places in a table. */
static void looked_up(const uint8_t *levels, const float *table, float d, float *to)
{
    for (int i = 0; i < HALF; i++) {
        to[i] = table[levels[i] & 15] * d;
        to[i + HALF] = table[levels[i] >> 4] * d;
    }
}

static void iq4_nl(const uint8_t *b, float *to)
{
    looked_up(b + 2, curve, f16_at(b), to);
}

/* Twice the numbers of f4e2m1. */
static const float e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The scale is 2^(e - 128). */
static void mxfp4(const uint8_t *b, float *to)
{
    const uint32_t e = b[0];
    looked_up(b + 1, e2m1, half_float(e < 2 ? UINT32_C(0x200000) << e : (e - 1) << 23), to);
}

/* ---- blocks of 64 and 128 ---- */

/* Half of a number of f8e4m3 without a sign; 127, which would be NaN, is 0. */
static float half_e4m3(uint8_t x)
{
    const uint32_t exponent = x >> 3 & 15U, rest = x & 7U;
    if (x == 127)
        return 0;
    return exponent == 0 ? (float)rest * 0x1p-10F : half_float((exponent + 119) << 23 | rest << 20);
}

/* 4 parts of 16, each with a scale of a byte. */
static void nvfp4(const uint8_t *b, float *to)
{
    for (int part = 0; part < 4; part++) {
        const uint8_t *levels = b + 4 + part * 8;
        const float d = half_e4m3(b[part]);
        for (int i = 0; i < 8; i++) {
            to[part * HALF + i] = e2m1[levels[i] & 15] * d;
            to[part * HALF + i + 8] = e2m1[levels[i] >> 4] * d;
        }
    }
}

static void q1_0(const uint8_t *b, float *to)
{
    const float d = f16_at(b);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 8; k++)
            to[8 * i + k] = (float)(2 * (b[2 + i] >> k & 1) - 1) * d;
}

static void q2_0(const uint8_t *b, float *to)
{
    const float d = f16_at(b);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 4; k++)
            to[4 * i + k] = (float)((b[2 + i] >> 2 * k & 3) - 1) * d;
}

/* ---- super-blocks of 256 ---- */

/* 16 parts of 16 weights, each with a scale and a minimum of 4 bits; levels of 2 bits. */
static void q2_k(const uint8_t *b, float *to)
{
    const uint8_t *scales = b, *levels = b + 16;
    const float d = f16_at(b + 80), least = f16_at(b + 82);
    for (int part = 0; part < 16; part++) {
        const uint8_t *from = levels + part / 8 * 32 + part % 2 * HALF;
        const int shift = part % 8 / 2 * 2;
        const float scale = d * (float)(scales[part] & 15);
        const float minimum = least * (float)(scales[part] >> 4);
        for (int i = 0; i < HALF; i++)
            to[part * HALF + i] = scale * (float)(from[i] >> shift & 3) - minimum;
    }
}

/* 16 parts of 16, scales of 6 bits; levels of 2 bits and a third one in a plane of its own. */
static void q3_k(const uint8_t *b, float *to)
{
    const uint8_t *plane = b, *levels = b + 32, *scales = b + 96;
    const float d = f16_at(b + 108);
    for (int part = 0; part < 16; part++) {
        const uint8_t *from = levels + part / 8 * 32 + part % 2 * HALF;
        const uint8_t *high = plane + part % 2 * HALF;
        const int shift = part % 8 / 2 * 2, bit = part / 2;
        const int low = part < 8 ? scales[part] & 15 : scales[part - 8] >> 4;
        const int top = scales[8 + part % 4] >> part / 4 * 2 & 3;
        const float scale = d * (float)((low | top << 4) - 32);
        for (int i = 0; i < HALF; i++)
            to[part * HALF + i] =
                scale * (float)((from[i] >> shift & 3) - ((high[i] >> bit & 1) != 0 ? 0 : 4));
    }
}

/* Scale and minimum, of 6 bits each, of one of 8 parts: twelve bytes. */
static void six_bits(const uint8_t *p, int part, float *scale, float *minimum)
{
    if (part < 4) {
        *scale = (float)(p[part] & 63);
        *minimum = (float)(p[part + 4] & 63);
    } else {
        *scale = (float)((p[part + 4] & 15) | (p[part - 4] >> 6) << 4);
        *minimum = (float)((p[part + 4] >> 4) | (p[part] >> 6) << 4);
    }
}

static void q4_k(const uint8_t *b, float *to)
{
    const float d = f16_at(b), least = f16_at(b + 2);
    for (int part = 0; part < 8; part++) {
        const uint8_t *from = b + 16 + part / 2 * SMALL;
        const int shift = part % 2 * 4;
        float scale, minimum;
        six_bits(b + 4, part, &scale, &minimum);
        scale *= d;
        minimum *= least;
        for (int i = 0; i < SMALL; i++)
            to[part * SMALL + i] = scale * (float)(from[i] >> shift & 15) - minimum;
    }
}

static void q5_k(const uint8_t *b, float *to)
{
    const float d = f16_at(b), least = f16_at(b + 2);
    const uint8_t *high = b + 16;
    for (int part = 0; part < 8; part++) {
        const uint8_t *from = b + 48 + part / 2 * SMALL;
        const int shift = part % 2 * 4;
        float scale, minimum;
        six_bits(b + 4, part, &scale, &minimum);
        scale *= d;
        minimum *= least;
        for (int i = 0; i < SMALL; i++)
            to[part * SMALL + i] =
                scale * (float)((from[i] >> shift & 15) | (high[i] >> part & 1) << 4) - minimum;
    }
}

/* 16 parts of 16 with scales of a byte; four low bits and two high ones. */
static void q6_k(const uint8_t *b, float *to)
{
    const uint8_t *low = b, *high = b + 128;
    const float d = f16_at(b + 208);
    for (int part = 0; part < 16; part++) {
        const int quarter = part % 8 / 2; /* of 32 weights, in a half of 128 */
        const uint8_t *from = low + part / 8 * 64 + quarter % 2 * 32 + part % 2 * HALF;
        const uint8_t *top = high + part / 8 * 32 + part % 2 * HALF;
        const int shift = quarter / 2 * 4, place = quarter * 2;
        const float scale = d * (float)(int8_t)b[192 + part];
        for (int i = 0; i < HALF; i++)
            to[part * HALF + i] =
                scale * (float)(((from[i] >> shift & 15) | (top[i] >> place & 3) << 4) - 32);
    }
}

static void iq4_xs(const uint8_t *b, float *to)
{
    const float d = f16_at(b);
    const int high = b[2] | b[3] << 8;
    for (int part = 0; part < 8; part++) {
        const int low = b[4 + part / 2] >> part % 2 * 4 & 15;
        const float scale = d * (float)((low | (high >> 2 * part & 3) << 4) - 32);
        looked_up(b + 8 + part * HALF, curve, scale, to + part * SMALL);
    }
}

/* Digit number `digit` of bytes that hold fractions of 3^5, less 1. */
static void digits(const uint8_t *from, int count, int digit, float d, float *to)
{
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    for (int i = 0; i < count; i++)
        to[i] = (float)((((from[i] * powers[digit]) & 255) * 3 >> 8) - 1) * d;
}

static void tq1_0(const uint8_t *b, float *to)
{
    const float d = f16_at(b + 52);
    for (int i = 0; i < 5; i++) {
        digits(b, 32, i, d, to + 32 * i);
        digits(b + 32, 16, i, d, to + 160 + 16 * i);
    }
    for (int i = 0; i < 4; i++)
        digits(b + 48, 4, i, d, to + 240 + 4 * i);
}

static void tq2_0(const uint8_t *b, float *to)
{
    const float d = f16_at(b + 64);
    for (int part = 0; part < 8; part++)
        for (int i = 0; i < SMALL; i++)
            to[part * SMALL + i] = (float)((b[part / 4 * SMALL + i] >> part % 4 * 2 & 3) - 1) * d;
}

typedef void block_fn(const uint8_t *b, float *to);

static block_fn *const decoders[TAKT_GGML_FORMATS] = {
    [TAKT_GGML_Q4_0] = q4_0,     [TAKT_GGML_Q4_1] = q4_1,     [TAKT_GGML_Q5_0] = q5_0,
    [TAKT_GGML_Q5_1] = q5_1,     [TAKT_GGML_Q8_0] = q8_0,     [TAKT_GGML_Q2_K] = q2_k,
    [TAKT_GGML_Q3_K] = q3_k,     [TAKT_GGML_Q4_K] = q4_k,     [TAKT_GGML_Q5_K] = q5_k,
    [TAKT_GGML_Q6_K] = q6_k,     [TAKT_GGML_IQ4_NL] = iq4_nl, [TAKT_GGML_IQ4_XS] = iq4_xs,
    [TAKT_GGML_MXFP4] = mxfp4,   [TAKT_GGML_NVFP4] = nvfp4,   [TAKT_GGML_Q1_0] = q1_0,
    [TAKT_GGML_Q2_0] = q2_0,     [TAKT_GGML_TQ1_0] = tq1_0,   [TAKT_GGML_TQ2_0] = tq2_0,
    [TAKT_GGML_IQ1_S] = iq1_s,   [TAKT_GGML_IQ1_M] = iq1_m,   [TAKT_GGML_IQ2_XXS] = iq2_xxs,
    [TAKT_GGML_IQ2_XS] = iq2_xs, [TAKT_GGML_IQ2_S] = iq2_s,   [TAKT_GGML_IQ3_XXS] = iq3_xxs,
    [TAKT_GGML_IQ3_S] = iq3_s,
};

#endif

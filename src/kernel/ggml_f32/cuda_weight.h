/* cuda_weight.h - weight `i` of a block of every format of ggml, for device code: decode.h by
 * weights.
 */
#ifndef TAKT_KERNEL_GGML_F32_CUDA_WEIGHT_H
#define TAKT_KERNEL_GGML_F32_CUDA_WEIGHT_H

#include "kernel/ggml_f32/cuda_grid.h"

/* Four bits of sixteen bytes: the low ones of all, then the high ones. */
DEVICE uint32_t four_bits(const uint8_t *levels, uint32_t i)
{
    return i < 16 ? levels[i] & 15U : levels[i - 16] >> 4U;
}

DEVICE uint32_t bit_of(const uint8_t *p, uint32_t i)
{
    return p[i / 8] >> i % 8 & 1U;
}

/* ---- blocks of 32 ---- */

DEVICE float weight_q4_0(const uint8_t *b, uint32_t i)
{
    return (float)((int32_t)four_bits(b + 2, i) - 8) * f16_at(b);
}
DEVICE float weight_q4_1(const uint8_t *b, uint32_t i)
{
    return (float)four_bits(b + 4, i) * f16_at(b) + f16_at(b + 2);
}
DEVICE float weight_q5_0(const uint8_t *b, uint32_t i)
{
    return (float)((int32_t)(four_bits(b + 6, i) | bit_of(b + 2, i) << 4) - 16) * f16_at(b);
}
DEVICE float weight_q5_1(const uint8_t *b, uint32_t i)
{
    return (float)(four_bits(b + 8, i) | bit_of(b + 4, i) << 4) * f16_at(b) + f16_at(b + 2);
}
DEVICE float weight_q8_0(const uint8_t *b, uint32_t i)
{
    return (float)(int8_t)b[2 + i] * f16_at(b);
}

DEVICE float curved(uint32_t level)
{
    /* Eight levels a word, a byte each, plus 128. */
    const uint64_t low = 0x766a5d4f3f2d1801ULL, high = 0xf1d9c5b5a6998d81ULL;
    return (float)((int32_t)((level < 8 ? low : high) >> level % 8 * 8 & 255) - 128);
}
DEVICE float weight_iq4_nl(const uint8_t *b, uint32_t i)
{
    return curved(four_bits(b + 2, i)) * f16_at(b);
}
DEVICE float e2m1(uint32_t level)
{
    const float size = (float)(0xc8643210U >> (level & 7) * 4 & 15);
    return level > 8 ? -size : size;
}
DEVICE float weight_mxfp4(const uint8_t *b, uint32_t i)
{
    const uint32_t e = b[0];
    return e2m1(four_bits(b + 1, i)) * half_float(e < 2 ? 0x200000U << e : (e - 1) << 23);
}

/* ---- blocks of 64 and 128 ---- */

DEVICE float weight_nvfp4(const uint8_t *b, uint32_t i)
{
    const uint32_t level = b[4 + i / 16 * 8 + i % 8] >> i % 16 / 8 * 4 & 15U;
    const uint32_t scale = b[i / 16], exponent = scale >> 3 & 15U, rest = scale & 7U;
    const float d =
        exponent == 0 ? (float)rest * 0x1p-10f : half_float((exponent + 119) << 23 | rest << 20);
    return e2m1(level) * (scale == 127 ? 0.0f : d);
}
DEVICE float weight_q1_0(const uint8_t *b, uint32_t i)
{
    return bit_of(b + 2, i) != 0 ? f16_at(b) : -f16_at(b);
}
DEVICE float weight_q2_0(const uint8_t *b, uint32_t i)
{
    return (float)((int32_t)(b[2 + i / 4] >> i % 4 * 2 & 3U) - 1) * f16_at(b);
}

/* ---- super-blocks of 256 ---- */

DEVICE float weight_q2_k(const uint8_t *b, uint32_t i)
{
    const uint32_t part = i / 16, scales = b[part];
    const uint32_t from = b[16 + part / 8 * 32 + part % 2 * 16 + i % 16];
    const float scale = f16_at(b + 80) * (float)(scales & 15);
    return scale * (float)(from >> part % 8 / 2 * 2 & 3) - f16_at(b + 82) * (float)(scales >> 4);
}
DEVICE float weight_q3_k(const uint8_t *b, uint32_t i)
{
    const uint8_t *scales = b + 96;
    const uint32_t part = i / 16, at = part % 2 * 16 + i % 16;
    const int32_t low = part < 8 ? scales[part] & 15 : scales[part - 8] >> 4;
    const int32_t top = scales[8 + part % 4] >> part / 4 * 2 & 3;
    const int32_t level = b[32 + part / 8 * 32 + at] >> part % 8 / 2 * 2 & 3;
    const float scale = f16_at(b + 108) * (float)((low | top << 4) - 32);
    return scale * (float)(level - ((b[at] >> part / 2 & 1) != 0 ? 0 : 4));
}

/* Scale, or minimum, of 6 bits of one of 8 parts: twelve bytes. */
DEVICE float six_bits(const uint8_t *p, uint32_t part, bool is_minimum)
{
    if (part < 4)
        return (float)(p[part + (is_minimum ? 4 : 0)] & 63);
    return is_minimum ? (float)((p[part + 4] >> 4) | (p[part] >> 6) << 4)
                      : (float)((p[part + 4] & 15) | (p[part - 4] >> 6) << 4);
}
DEVICE float weight_q4_k(const uint8_t *b, uint32_t i)
{
    const uint32_t part = i / 32;
    const float scale = six_bits(b + 4, part, false) * f16_at(b);
    const float minimum = six_bits(b + 4, part, true) * f16_at(b + 2);
    return scale * (float)(b[16 + part / 2 * 32 + i % 32] >> part % 2 * 4 & 15) - minimum;
}
DEVICE float weight_q5_k(const uint8_t *b, uint32_t i)
{
    const uint32_t part = i / 32;
    const float scale = six_bits(b + 4, part, false) * f16_at(b);
    const float minimum = six_bits(b + 4, part, true) * f16_at(b + 2);
    const uint32_t low = b[48 + part / 2 * 32 + i % 32] >> part % 2 * 4 & 15U;
    return scale * (float)(low | (b[16 + i % 32] >> part & 1U) << 4) - minimum;
}
DEVICE float weight_q6_k(const uint8_t *b, uint32_t i)
{
    const uint32_t part = i / 16, quarter = part % 8 / 2, at = part % 2 * 16 + i % 16;
    const int32_t low = b[part / 8 * 64 + quarter % 2 * 32 + at] >> quarter / 2 * 4 & 15;
    const int32_t top = b[128 + part / 8 * 32 + at] >> quarter * 2 & 3;
    return f16_at(b + 208) * (float)(int8_t)b[192 + part] * (float)((low | top << 4) - 32);
}
DEVICE float weight_iq4_xs(const uint8_t *b, uint32_t i)
{
    const uint32_t part = i / 32, high = (uint32_t)(b[2] | b[3] << 8);
    const uint32_t low = b[4 + part / 2] >> part % 2 * 4 & 15U;
    const float scale = f16_at(b) * (float)((int32_t)(low | (high >> 2 * part & 3) << 4) - 32);
    return curved(four_bits(b + 8 + part * 16, i % 32)) * scale;
}

/* 240 weights in digits of bytes, 32 and 16 bytes at a time, and 16 in those of the last four. */
DEVICE float weight_tq1_0(const uint8_t *b, uint32_t i)
{
    const uint32_t first = i < 160 ? 0 : i < 240 ? 160 : 240;
    const uint32_t run = i < 160 ? 32 : i < 240 ? 16 : 4;
    const uint32_t byte = b[(i < 160 ? 0 : i < 240 ? 32 : 48) + (i - first) % run];
    const uint32_t digit = (i - first) / run;
    const uint32_t power = digit < 4 ? 0x1b090301U >> 8 * digit & 255U : 81U;
    return (float)((int32_t)((byte * power & 255U) * 3 >> 8) - 1) * f16_at(b + 52);
}
DEVICE float weight_tq2_0(const uint8_t *b, uint32_t i)
{
    const uint32_t byte = b[i / 128 * 32 + i % 32];
    return (float)((int32_t)(byte >> i / 32 % 4 * 2 & 3U) - 1) * f16_at(b + 64);
}

/* Calls X(function) for the function of `format`. */
#define BY_FORMAT(format, X)                                                                       \
    switch (format) {                                                                              \
    case TAKT_GGML_Q4_0: X(weight_q4_0); break;                                                    \
    case TAKT_GGML_Q4_1: X(weight_q4_1); break;                                                    \
    case TAKT_GGML_Q5_0: X(weight_q5_0); break;                                                    \
    case TAKT_GGML_Q5_1: X(weight_q5_1); break;                                                    \
    case TAKT_GGML_Q8_0: X(weight_q8_0); break;                                                    \
    case TAKT_GGML_Q2_K: X(weight_q2_k); break;                                                    \
    case TAKT_GGML_Q3_K: X(weight_q3_k); break;                                                    \
    case TAKT_GGML_Q4_K: X(weight_q4_k); break;                                                    \
    case TAKT_GGML_Q5_K: X(weight_q5_k); break;                                                    \
    case TAKT_GGML_Q6_K: X(weight_q6_k); break;                                                    \
    case TAKT_GGML_IQ4_NL: X(weight_iq4_nl); break;                                                \
    case TAKT_GGML_IQ4_XS: X(weight_iq4_xs); break;                                                \
    case TAKT_GGML_NVFP4: X(weight_nvfp4); break;                                                  \
    case TAKT_GGML_Q1_0: X(weight_q1_0); break;                                                    \
    case TAKT_GGML_Q2_0: X(weight_q2_0); break;                                                    \
    case TAKT_GGML_TQ1_0: X(weight_tq1_0); break;                                                  \
    case TAKT_GGML_TQ2_0: X(weight_tq2_0); break;                                                  \
    case TAKT_GGML_IQ1_S: X(weight_iq1_s); break;                                                  \
    case TAKT_GGML_IQ1_M: X(weight_iq1_m); break;                                                  \
    case TAKT_GGML_IQ2_XXS: X(weight_iq2_xxs); break;                                              \
    case TAKT_GGML_IQ2_XS: X(weight_iq2_xs); break;                                                \
    case TAKT_GGML_IQ2_S: X(weight_iq2_s); break;                                                  \
    case TAKT_GGML_IQ3_XXS: X(weight_iq3_xxs); break;                                              \
    case TAKT_GGML_IQ3_S: X(weight_iq3_s); break;                                                  \
    default: X(weight_mxfp4); break;                                                               \
    }

#endif

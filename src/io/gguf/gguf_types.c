/* gguf_types.c - the element types of GGUF's tensors, and how blocks become floats.
 *
 * Each decoder does what ggml's does, operation by operation, in f32, so that the bits agree.
 */
#include <string.h>

#include "base/half.h"
#include "io/gguf/gguf.h"

static float half_at(const uint8_t *p)
{
    return (float)takt_f16_to_f64((uint16_t)(p[0] | p[1] << 8));
}

/* ---- blocks of 32 ---- */

static void q4_0(const uint8_t *b, float *to)
{
    const float d = half_at(b);
    for (int i = 0; i < 16; i++) {
        to[i] = (float)((b[2 + i] & 15) - 8) * d;
        to[i + 16] = (float)((b[2 + i] >> 4) - 8) * d;
    }
}

static void q4_1(const uint8_t *b, float *to)
{
    const float d = half_at(b), m = half_at(b + 2);
    for (int i = 0; i < 16; i++) {
        to[i] = (float)(b[4 + i] & 15) * d + m;
        to[i + 16] = (float)(b[4 + i] >> 4) * d + m;
    }
}

static uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void q5_0(const uint8_t *b, float *to)
{
    const float d = half_at(b);
    const uint32_t high = word_at(b + 2);
    for (int i = 0; i < 16; i++) {
        to[i] = (float)((int)((b[6 + i] & 15) | (high >> i & 1) << 4) - 16) * d;
        to[i + 16] = (float)((int)((b[6 + i] >> 4) | (high >> (i + 16) & 1) << 4) - 16) * d;
    }
}

static void q5_1(const uint8_t *b, float *to)
{
    const float d = half_at(b), m = half_at(b + 2);
    const uint32_t high = word_at(b + 4);
    for (int i = 0; i < 16; i++) {
        to[i] = (float)((b[8 + i] & 15) | (high >> i & 1) << 4) * d + m;
        to[i + 16] = (float)((b[8 + i] >> 4) | (high >> (i + 16) & 1) << 4) * d + m;
    }
}

static void q8_0(const uint8_t *b, float *to)
{
    const float d = half_at(b);
    for (int i = 0; i < 32; i++)
        to[i] = (float)(int8_t)b[2 + i] * d;
}

/* Sixteen levels that lie closer together near zero. */
static const int8_t levels_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};

static void iq4_nl(const uint8_t *b, float *to)
{
    const float d = half_at(b);
    for (int i = 0; i < 16; i++) {
        to[i] = d * (float)levels_nl[b[2 + i] & 15];
        to[i + 16] = d * (float)levels_nl[b[2 + i] >> 4];
    }
}

static void mxfp4(const uint8_t *b, float *to)
{
    static const int8_t levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    const float d = (float)takt_f8_to_f64(TAKT_E8M0, b[0]) * 0.5F;
    for (int i = 0; i < 16; i++) {
        to[i] = (float)levels[b[1 + i] & 15] * d;
        to[i + 16] = (float)levels[b[1 + i] >> 4] * d;
    }
}

/* ---- super-blocks of 256 ---- */

/* Scale and minimum `j` of the twelve bytes that Q4_K and Q5_K pack eight of each into. */
static void six_bits(const uint8_t *s, int j, uint8_t *scale, uint8_t *least)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *least = s[j + 4] & 63;
    } else {
        *scale = (uint8_t)((s[j + 4] & 15) | (s[j - 4] >> 6) << 4);
        *least = (uint8_t)((s[j + 4] >> 4) | (s[j] >> 6) << 4);
    }
}

static void q4_k(const uint8_t *b, float *to)
{
    const float d = half_at(b), least = half_at(b + 2);
    for (int j = 0; j < 8; j++) {
        const uint8_t *q = b + 16 + 32 * (j / 2);
        uint8_t s, m;
        six_bits(b + 4, j, &s, &m);
        const float by = d * (float)s, from = least * (float)m;
        for (int i = 0; i < 32; i++)
            to[32 * j + i] = by * (float)(q[i] >> 4 * (j & 1) & 15) - from;
    }
}

static void q5_k(const uint8_t *b, float *to)
{
    const float d = half_at(b), least = half_at(b + 2);
    for (int j = 0; j < 8; j++) {
        const uint8_t *high = b + 16, *q = b + 48 + 32 * (j / 2);
        uint8_t s, m;
        six_bits(b + 4, j, &s, &m);
        const float by = d * (float)s, from = least * (float)m;
        for (int i = 0; i < 32; i++) {
            const int level = (q[i] >> 4 * (j & 1) & 15) + ((high[i] >> j & 1) << 4);
            to[32 * j + i] = by * (float)level - from;
        }
    }
}

static void q2_k(const uint8_t *b, float *to)
{
    const float d = half_at(b + 80), least = half_at(b + 82);
    for (int j = 0; j < 16; j++) {
        const uint8_t *q = b + 16 + 32 * (j / 8) + 16 * (j & 1);
        const float by = d * (float)(b[j] & 15), from = least * (float)(b[j] >> 4);
        for (int i = 0; i < 16; i++)
            to[16 * j + i] = by * (float)(q[i] >> 2 * (j / 2 % 4) & 3) - from;
    }
}

static void q3_k(const uint8_t *b, float *to)
{
    const uint8_t *mask = b, *low = b + 32, *s = b + 96;
    const float d = half_at(b + 108);
    for (int j = 0; j < 16; j++) {
        const int four = j < 8 ? s[j] & 15 : s[j - 8] >> 4, two = s[8 + j % 4] >> 2 * (j / 4) & 3;
        const float by = d * (float)((four | two << 4) - 32);
        const uint8_t *q = low + 32 * (j / 8) + 16 * (j & 1), *m = mask + 16 * (j & 1);
        for (int i = 0; i < 16; i++) {
            const int level = (q[i] >> 2 * (j / 2 % 4) & 3) - ((m[i] >> j / 2 & 1) != 0 ? 0 : 4);
            to[16 * j + i] = by * (float)level;
        }
    }
}

static void q6_k(const uint8_t *b, float *to)
{
    const float d = half_at(b + 208);
    for (int j = 0; j < 16; j++) {
        const int part = j / 2 % 4; /* of 32 in a half of 128 */
        const uint8_t *low = b + 64 * (j / 8) + 32 * (part & 1) + 16 * (j & 1);
        const uint8_t *high = b + 128 + 32 * (j / 8) + 16 * (j & 1);
        const float by = d * (float)(int8_t)b[192 + j];
        for (int i = 0; i < 16; i++) {
            const int level = (low[i] >> 4 * (part / 2) & 15) | (high[i] >> 2 * part & 3) << 4;
            to[16 * j + i] = by * (float)(level - 32);
        }
    }
}

static void iq4_xs(const uint8_t *b, float *to)
{
    const float d = half_at(b);
    const int high = b[2] | b[3] << 8;
    for (int j = 0; j < 8; j++) {
        const int scale = (b[4 + j / 2] >> 4 * (j & 1) & 15) | (high >> 2 * j & 3) << 4;
        const float by = d * (float)(scale - 32);
        for (int i = 0; i < 16; i++) {
            const uint8_t q = b[8 + 16 * j + i];
            to[32 * j + i] = by * (float)levels_nl[q & 15];
            to[32 * j + i + 16] = by * (float)levels_nl[q >> 4];
        }
    }
}

/* ---- the table ---- */

#define BLOCKS TAKT_DTYPE_COUNT
static const takt_gguf_type types[] = {
    {0, "F32", 1, 4, TAKT_F32, NULL},       {1, "F16", 1, 2, TAKT_F16, NULL},
    {2, "Q4_0", 32, 18, BLOCKS, q4_0},      {3, "Q4_1", 32, 20, BLOCKS, q4_1},
    {6, "Q5_0", 32, 22, BLOCKS, q5_0},      {7, "Q5_1", 32, 24, BLOCKS, q5_1},
    {8, "Q8_0", 32, 34, BLOCKS, q8_0},      {9, "Q8_1", 32, 36, BLOCKS, NULL},
    {10, "Q2_K", 256, 84, BLOCKS, q2_k},    {11, "Q3_K", 256, 110, BLOCKS, q3_k},
    {12, "Q4_K", 256, 144, BLOCKS, q4_k},   {13, "Q5_K", 256, 176, BLOCKS, q5_k},
    {14, "Q6_K", 256, 210, BLOCKS, q6_k},   {15, "Q8_K", 256, 292, BLOCKS, NULL},
    {16, "IQ2_XXS", 256, 66, BLOCKS, NULL}, {17, "IQ2_XS", 256, 74, BLOCKS, NULL},
    {18, "IQ3_XXS", 256, 98, BLOCKS, NULL}, {19, "IQ1_S", 256, 50, BLOCKS, NULL},
    {20, "IQ4_NL", 32, 18, BLOCKS, iq4_nl}, {21, "IQ3_S", 256, 110, BLOCKS, NULL},
    {22, "IQ2_S", 256, 82, BLOCKS, NULL},   {23, "IQ4_XS", 256, 136, BLOCKS, iq4_xs},
    {24, "I8", 1, 1, TAKT_I8, NULL},        {25, "I16", 1, 2, TAKT_I16, NULL},
    {26, "I32", 1, 4, TAKT_I32, NULL},      {27, "I64", 1, 8, TAKT_I64, NULL},
    {28, "F64", 1, 8, TAKT_F64, NULL},      {29, "IQ1_M", 256, 56, BLOCKS, NULL},
    {30, "BF16", 1, 2, TAKT_BF16, NULL},    {34, "TQ1_0", 256, 54, BLOCKS, NULL},
    {35, "TQ2_0", 256, 66, BLOCKS, NULL},   {39, "MXFP4", 32, 17, BLOCKS, mxfp4},
};

const takt_gguf_type *takt_gguf_type_of(uint32_t number)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == number)
            return &types[i];
    return NULL;
}

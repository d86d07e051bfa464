/* open.h - blocks of formats without panels, as they are in a file: levels and scales of 32 weights
 * at a time.
 *
 * Levels are signed bytes, scales of parts whole numbers; open_d has what they count in. Formats
 * and places in a block are constants where these functions are used.
 */
#ifndef TAKT_KERNEL_GGML_I8_OPEN_H
#define TAKT_KERNEL_GGML_I8_OPEN_H

#include "kernel/ggml_i8/open_grids.h"
#include "kernel/ggml_panels/level.h"

typedef int8_t open_i8 __attribute__((vector_size(16)));
typedef uint8_t open_u8 __attribute__((vector_size(16)));
typedef uint64_t open_u64 __attribute__((vector_size(16)));
typedef uint32_t open_u32 __attribute__((vector_size(16)));

typedef struct open_part {
    open_i8 level[2]; /* sixteen weights each */
    int scale[2];
} open_part;

FIXED int open_weights(const takt_ggml_format format)
{
    return format == TAKT_GGML_NVFP4 || format == TAKT_GGML_Q2_0 ? 64
           : format == TAKT_GGML_Q1_0                            ? 128
                                                                 : 256;
}

/* Scales of 32 weights: 0 if the block has none of its parts. */
FIXED int open_scales(const takt_ggml_format format)
{
    switch (format) {
    case TAKT_GGML_IQ2_XS:
    case TAKT_GGML_IQ2_S:
    case TAKT_GGML_IQ1_M: return 2;
    case TAKT_GGML_IQ2_XXS:
    case TAKT_GGML_IQ3_XXS:
    case TAKT_GGML_IQ3_S:
    case TAKT_GGML_IQ1_S: return 1;
    default: return 0;
    }
}

/* ---- bytes ---- */

FIXED uint32_t open_16(const uint8_t *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

FIXED uint32_t open_32(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* half_from_f16 by one instruction. */
FIXED float open_f16(uint32_t bits)
{
#if TAKT_SIMD_SET == 2
    const uint16_t low = (uint16_t)bits;
    __fp16 x;
    memcpy(&x, &low, sizeof x);
    return x;
#else
    return _cvtsh_ss((uint16_t)bits);
#endif
}

FIXED float open_half(const uint8_t *p)
{
    return open_f16(open_16(p));
}

FIXED open_u8 open_bytes(const uint8_t *p)
{
    open_u8 x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The bytes at these places, each less than 16. */
FIXED open_u8 open_places(open_u8 bytes, open_u8 places)
{
#if TAKT_SIMD_SET == 2
    return (open_u8)vqtbl1q_u8((uint8x16_t)bytes, (uint8x16_t)places);
#else
    return (open_u8)_mm_shuffle_epi8((__m128i)bytes, (__m128i)places);
#endif
}

FIXED open_i8 open_pair(uint64_t low, uint64_t high)
{
    return (open_i8)(open_u64){low, high};
}

/* Levels of which some change their sign. */
FIXED open_i8 open_signed(open_i8 level, open_i8 minus)
{
    return (level ^ minus) - minus;
}

/* ---- places in grids ---- */

FIXED void open_iq2_xxs(const uint8_t *b, const int i, open_part *o)
{
    const uint8_t *p = b + 2 + 8 * i;
    const uint32_t word = open_32(p + 4);
    UNROLL for (int h = 0; h < 2; h++)
    {
        const open_i8 level =
            open_pair(takt_ggml_open_iq2_xxs[p[2 * h]], takt_ggml_open_iq2_xxs[p[2 * h + 1]]);
        o->level[h] =
            open_signed(level, open_pair(takt_ggml_open_even[word >> 14 * h & 127],
                                         takt_ggml_open_even[word >> (14 * h + 7) & 127]));
    }
    o->scale[0] = (int)(word >> 28) * 2 + 1;
}

FIXED void open_iq2_xs(const uint8_t *b, const int i, open_part *o)
{
    UNROLL for (int h = 0; h < 2; h++)
    {
        const uint32_t x = open_16(b + 2 + 8 * i + 4 * h), y = open_16(b + 4 + 8 * i + 4 * h);
        const open_i8 level =
            open_pair(takt_ggml_open_iq2_xs[x & 511], takt_ggml_open_iq2_xs[y & 511]);
        o->level[h] =
            open_signed(level, open_pair(takt_ggml_open_even[x >> 9], takt_ggml_open_even[y >> 9]));
        o->scale[h] = (b[66 + i] >> 4 * h & 15) * 2 + 1;
    }
}

FIXED void open_iq2_s(const uint8_t *b, const int i, open_part *o)
{
    const uint8_t *place = b + 2 + 4 * i, *sign = b + 34 + 4 * i;
    const uint32_t high = (uint32_t)b[66 + i] << 8;
    UNROLL for (int h = 0; h < 2; h++)
    {
        const uint32_t x = place[2 * h] | (high >> 4 * h & 0x300);
        const uint32_t y = place[2 * h + 1] | (high >> (4 * h + 2) & 0x300);
        o->level[h] = open_signed(
            open_pair(takt_ggml_open_iq2_s[x], takt_ggml_open_iq2_s[y]),
            open_pair(takt_ggml_open_signs[sign[2 * h]], takt_ggml_open_signs[sign[2 * h + 1]]));
        o->scale[h] = (b[74 + i] >> 4 * h & 15) * 2 + 1;
    }
}

/* Entries of four weights. */
FIXED uint64_t open_two(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

FIXED void open_iq3_xxs(const uint8_t *b, const int i, open_part *o)
{
    const uint32_t word = open_32(b + 66 + 4 * i), *grid = takt_ggml_open_iq3_xxs;
    UNROLL for (int h = 0; h < 2; h++)
    {
        const uint8_t *p = b + 2 + 8 * i + 4 * h;
        const open_u32 level = {grid[p[0]], grid[p[1]], grid[p[2]], grid[p[3]]};
        o->level[h] =
            open_signed((open_i8)level, open_pair(takt_ggml_open_even[word >> 14 * h & 127],
                                                  takt_ggml_open_even[word >> (14 * h + 7) & 127]));
    }
    o->scale[0] = (int)(word >> 28) * 2 + 1;
}

/* Entry e of 32 weights; `high` has the ninth bits of their places from bit 8 on. */
FIXED uint32_t open_entry_iq3_s(const uint8_t *place, uint32_t high, const int e)
{
    return takt_ggml_open_iq3_s[place[e] | (high >> e & 256)];
}

FIXED void open_iq3_s(const uint8_t *b, const int i, open_part *o)
{
    const uint8_t *p = b + 2 + 8 * i, *sign = b + 74 + 4 * i;
    const uint32_t high = (uint32_t)b[66 + i] << 8;
    UNROLL for (int h = 0; h < 2; h++)
    {
        const int e = 4 * h;
        const open_i8 level =
            open_pair(open_two(open_entry_iq3_s(p, high, e), open_entry_iq3_s(p, high, e + 1)),
                      open_two(open_entry_iq3_s(p, high, e + 2), open_entry_iq3_s(p, high, e + 3)));
        o->level[h] = open_signed(level, open_pair(takt_ggml_open_signs[sign[2 * h]],
                                                   takt_ggml_open_signs[sign[2 * h + 1]]));
    }
    o->scale[0] = (b[106 + i / 2] >> i % 2 * 4 & 15) * 2 + 1;
}

/* An eighth is added to all of 32 weights, or taken off. */
FIXED void open_iq1_s(const uint8_t *b, const int i, open_part *o)
{
    const uint8_t *p = b + 2 + 4 * i;
    const uint32_t word = open_16(b + 34 + 2 * i), high = word << 8;
    const int8_t moved = (word & 0x8000) != 0 ? -1 : 1;
    UNROLL for (int h = 0; h < 2; h++)
    {
        const uint32_t x = p[2 * h] | (high >> 6 * h & 0x700);
        const uint32_t y = p[2 * h + 1] | (high >> (6 * h + 3) & 0x700);
        o->level[h] = open_pair(takt_ggml_open_iq1[x], takt_ggml_open_iq1[y]) + moved;
    }
    o->scale[0] = (int)(word >> 12 & 7) * 2 + 1;
}

FIXED uint64_t open_moved(uint32_t four)
{
    return (four & 8) != 0 ? UINT64_MAX : UINT64_C(0x0101010101010101);
}

/* The same for eight weights each. */
FIXED void open_iq1_m(const uint8_t *b, const int i, open_part *o)
{
    const uint32_t scales = open_16(b + 48 + i / 2 * 2) >> i % 2 * 6;
    UNROLL for (int h = 0; h < 2; h++)
    {
        const uint8_t *p = b + 4 * i + 2 * h;
        const uint32_t x = b[32 + 2 * i + h], y = x >> 4;
        const open_i8 level = open_pair(takt_ggml_open_iq1[p[0] | (x & 7) << 8],
                                        takt_ggml_open_iq1[p[1] | (y & 7) << 8]);
        o->level[h] = level + open_pair(open_moved(x), open_moved(y));
        o->scale[h] = (int)(scales >> 3 * h & 7) * 2 + 1;
    }
}

/* ---- digits and bits ----
 *
 * What is read is not yet the level, which is open_factor times that, less 1: rows of bytes have
 * their sums, so that one row need not compute it for every weight.
 */

FIXED int open_factor(const takt_ggml_format format)
{
    return format == TAKT_GGML_TQ1_0 ? -1 : format == TAKT_GGML_Q1_0 ? -2 : 1;
}

/* A digit of base three of each byte, negative: the highest of byte * power, a fraction of 256. */
FIXED open_i8 open_digit(open_u8 byte, open_u8 power)
{
    const open_u8 x = byte * power;
    return (open_i8)(x > 85) + (open_i8)(x > 170);
}

FIXED open_u8 open_equal(const uint8_t x)
{
    return (open_u8){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

/* Sixteen weights, number i of a block: five digits of 32 bytes, of 16, and four of 4. */
FIXED open_i8 open_tq1_0(const uint8_t *b, const int i)
{
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    const open_u8 last = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};
    if (i < 10)
        return open_digit(open_bytes(b + i % 2 * 16), open_equal(power[i / 2]));
    if (i < 15)
        return open_digit(open_bytes(b + 32), open_equal(power[i - 10]));
    const uint32_t four = open_32(b + 48);
    return open_digit((open_u8)(open_u32){four, four, four, four}, last);
}

FIXED open_i8 open_tq2_0(const uint8_t *b, const int i)
{
    const open_u8 x = open_bytes(b + i / 8 * 32 + i % 2 * 16);
    return (open_i8)(x >> (unsigned char)(i / 2 % 4 * 2) & 3);
}

/* Minus a bit. */
FIXED open_i8 open_q1_0(const uint8_t *b, const int i)
{
    const unsigned char n = (unsigned char)(2 * i);
    const open_u8 place = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    const open_u8 bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    return (open_i8)((open_places(open_bytes(b + 2), place + n) & bit) != 0);
}

/* Two bits each of four bytes, neighbours of each other. */
FIXED open_i8 open_q2_0(const uint8_t *b, const int i)
{
    const unsigned char n = (unsigned char)(4 * i);
    const open_u8 place = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    const open_u8 by = {0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6};
    return (open_i8)(open_places(open_bytes(b + 2), place + n) >> by & 3);
}

/* ---- every format ---- */

/* Sixteen weights, number i of a block whose parts have no scales. */
FIXED open_i8 open_sixteen(const takt_ggml_format format, const uint8_t *b, const int i)
{
    switch (format) {
    case TAKT_GGML_TQ1_0: return open_tq1_0(b, i);
    case TAKT_GGML_TQ2_0: return open_tq2_0(b, i);
    case TAKT_GGML_Q1_0: return open_q1_0(b, i);
    default: return open_q2_0(b, i);
    }
}

FIXED open_i8 open_level_of(const takt_ggml_format format, open_i8 x)
{
    const int factor = open_factor(format);
    return factor == -2 ? 1 | ~x : (factor == 1 ? x : -x) - 1;
}

/* Weights [32 * i, 32 * i + 32) of a block; `is_raw`: without the last step of digits and bits. */
FIXED void open_levels(const takt_ggml_format format, const uint8_t *b, const int i,
                       const bool is_raw, open_part *o)
{
    switch (format) {
    case TAKT_GGML_IQ2_XXS: open_iq2_xxs(b, i, o); break;
    case TAKT_GGML_IQ2_XS: open_iq2_xs(b, i, o); break;
    case TAKT_GGML_IQ2_S: open_iq2_s(b, i, o); break;
    case TAKT_GGML_IQ3_XXS: open_iq3_xxs(b, i, o); break;
    case TAKT_GGML_IQ3_S: open_iq3_s(b, i, o); break;
    case TAKT_GGML_IQ1_S: open_iq1_s(b, i, o); break;
    case TAKT_GGML_IQ1_M: open_iq1_m(b, i, o); break;
    default:
        UNROLL for (int h = 0; h < 2; h++)
        {
            const open_i8 x = open_sixteen(format, b, 2 * i + h);
            o->level[h] = is_raw ? x : open_level_of(format, x);
        }
        o->scale[0] = 1;
    }
    if (open_scales(format) < 2)
        o->scale[1] = o->scale[0];
}

/* What scale * level counts in. */
FIXED float open_d(const takt_ggml_format format, const uint8_t *b)
{
    switch (format) {
    case TAKT_GGML_IQ3_XXS: return open_half(b) * 0.25F;
    case TAKT_GGML_IQ1_M: {
        uint32_t bits = 0;
        UNROLL for (int i = 0; i < 4; i++) bits |= (uint32_t)(b[49 + 2 * i] >> 4) << 4 * i;
        return open_f16(bits) * 0.125F;
    }
    case TAKT_GGML_IQ2_XXS:
    case TAKT_GGML_IQ2_XS:
    case TAKT_GGML_IQ2_S:
    case TAKT_GGML_IQ1_S: return open_half(b) * 0.125F;
    case TAKT_GGML_TQ1_0: return open_half(b + 52);
    case TAKT_GGML_TQ2_0: return open_half(b + 64);
    default: return open_half(b);
    }
}

#endif

/* parts.h - super-blocks of a panel: scales and minima of all parts, and levels by groups.
 *
 * A group is the weights whose levels share words: two parts of 32, or four times two parts of 16.
 * A word is loaded once and gives a level to each run of 32 weights of its group, at shifts that
 * are constants.
 */
#ifndef TAKT_KERNEL_GGML_PANELS_PARTS_H
#define TAKT_KERNEL_GGML_PANELS_PARTS_H

#include "kernel/ggml_panels/level.h"

/* ---- scales and minima, sixteen columns at a time ---- */

typedef uint8_t ggml_u8x16 __attribute__((vector_size(16)));

typedef struct ggml_parts {
    int8_t scale[16][16], minimum[16][16]; /* [part][column] */
} ggml_parts;

FIXED ggml_u8x16 ggml_column_bytes(const takt_ggml_format format, const uint8_t *p, const int i)
{
    const ggml_shape s = ggml_shape_of(format);
    ggml_u8x16 x;
    memcpy(&x, p + 64 * s.words + 32 * s.halves + 16 * i, sizeof x);
    return x;
}

FIXED void ggml_put_bytes(int8_t *to, ggml_u8x16 x)
{
    memcpy(to, &x, sizeof x);
}

FIXED void ggml_parts_q2_k(const uint8_t *p, ggml_parts *o)
{
    UNROLL for (int i = 0; i < 16; i++)
    {
        const ggml_u8x16 x = ggml_column_bytes(TAKT_GGML_Q2_K, p, i);
        ggml_put_bytes(o->scale[i], x & 15);
        ggml_put_bytes(o->minimum[i], x >> 4);
    }
}

FIXED void ggml_parts_q3_k(const uint8_t *p, ggml_parts *o)
{
    UNROLL for (int i = 0; i < 16; i++)
    {
        const ggml_u8x16 x = ggml_column_bytes(TAKT_GGML_Q3_K, p, i % 8);
        const ggml_u8x16 top = ggml_column_bytes(TAKT_GGML_Q3_K, p, 8 + i % 4) >> (i / 4 * 2) & 3;
        ggml_put_bytes(o->scale[i], ((i < 8 ? x & 15 : x >> 4) | top << 4) - 32);
    }
}

/* Six bits each, as in q4_k and q5_k. */
FIXED void ggml_parts_six(const takt_ggml_format format, const uint8_t *p, ggml_parts *o)
{
    UNROLL for (int i = 0; i < 4; i++)
    {
        const ggml_u8x16 x = ggml_column_bytes(format, p, i),
                         y = ggml_column_bytes(format, p, i + 4);
        const ggml_u8x16 z = ggml_column_bytes(format, p, i + 8);
        ggml_put_bytes(o->scale[i], x & 63);
        ggml_put_bytes(o->minimum[i], y & 63);
        ggml_put_bytes(o->scale[i + 4], (z & 15) | x >> 6 << 4);
        ggml_put_bytes(o->minimum[i + 4], z >> 4 | y >> 6 << 4);
    }
}

FIXED void ggml_parts_iq4_xs(const uint8_t *p, ggml_parts *o)
{
    UNROLL for (int i = 0; i < 8; i++)
    {
        const ggml_u8x16 low = ggml_column_bytes(TAKT_GGML_IQ4_XS, p, 2 + i / 2) >> (i % 2 * 4);
        const ggml_u8x16 top = ggml_column_bytes(TAKT_GGML_IQ4_XS, p, i / 4) >> (i % 4 * 2);
        ggml_put_bytes(o->scale[i], ((low & 15) | (top & 3) << 4) - 32);
    }
}

/* Those of `p`'s format. */
FIXED void ggml_parts_of(const takt_ggml_format format, const uint8_t *p, ggml_parts *o)
{
    switch (format) {
    case TAKT_GGML_Q2_K: ggml_parts_q2_k(p, o); break;
    case TAKT_GGML_Q3_K: ggml_parts_q3_k(p, o); break;
    case TAKT_GGML_IQ4_XS: ggml_parts_iq4_xs(p, o); break;
    case TAKT_GGML_Q4_K:
    case TAKT_GGML_Q5_K: ggml_parts_six(format, p, o); break;
    default: /* Q6_K */
        UNROLL for (int i = 0; i < 16; i++)
            ggml_put_bytes(o->scale[i], ggml_column_bytes(format, p, i));
    }
}

/* ---- levels ---- */

typedef struct ggml_group {
    const uint8_t *low, *high; /* words, and the plane of high bits */
    int shift;                 /* of the plane, where groups share it */
} ggml_group;

/* Runs of 32 weights in a group. */
FIXED int ggml_runs(const takt_ggml_format format)
{
    if (format == TAKT_GGML_IQ4_XS)
        return 1;
    return format == TAKT_GGML_Q4_K || format == TAKT_GGML_Q5_K ? 2 : 4;
}

FIXED ggml_group ggml_group_at(const takt_ggml_format format, const uint8_t *p, const int i)
{
    switch (format) {
    case TAKT_GGML_Q3_K: return (ggml_group){p + 512 * i, p + 1024, 4 * i};
    case TAKT_GGML_Q5_K: return (ggml_group){p + 512 * i, p + 2048, 2 * i};
    case TAKT_GGML_IQ4_XS: return (ggml_group){p + 256 * i, NULL, 0};
    case TAKT_GGML_Q6_K: return (ggml_group){p + 1024 * i, p + 2048 + 512 * i, 0};
    default: return (ggml_group){p + 512 * i, NULL, 0};
    }
}

#if TAKT_SIMD_SET == 2

/* Bits of each byte moved down, or up if `shift` is negative, with anything around them. Neoverse
 * cores shift one vector a cycle, and do four times as much of anything else. */
FIXED vi ggml_move(vi word, const int shift)
{
    const uint8x16_t x = (uint8x16_t)word;
    return (vi)(shift < 0 ? x << (unsigned char)-shift : x >> (unsigned char)shift);
}

/* Bits [shift, shift + count) of each byte. */
FIXED vi ggml_field(vi word, const int shift, const int count)
{
    const uint8x16_t x = (uint8x16_t)ggml_move(word, shift);
    return (vi)(shift + count == 8 ? x : x & (unsigned char)((1 << count) - 1));
}

/* The lowest `below` bits of each byte of `low`, and above them `count` of `high`. */
FIXED vi ggml_join(vi low, vi high, const int below, const int count)
{
    const uint8x16_t mask = vdupq_n_u8((uint8_t)((1 << below) - 1));
    const uint8x16_t all = vdupq_n_u8((uint8_t)((1 << (below + count)) - 1));
    return (vi)vandq_u8(vbslq_u8(mask, (uint8x16_t)low, (uint8x16_t)high), all);
}

/* The lowest four bits of each byte of `low`, and `high` above them. */
FIXED vi ggml_above(vi low, vi high)
{
    return (vi)vsliq_n_u8((uint8x16_t)low, (uint8x16_t)high, 4);
}

/* A bit plane, whose bit of run 0 is moved to bit `at`. */
FIXED vi ggml_plane_at(const ggml_group *o, const int w, const size_t u, const int at)
{
    return (vi)vshlq_u32((uint32x4_t)ggml_word(o->high, w, u), vdupq_n_s32(at - o->shift));
}

/* Numbers of sixteen columns, of which lane = column. */
FIXED vi ggml_numbers(const int8_t *from, const size_t u, const bool is_signed)
{
    const uint32_t first = (uint32_t)(4 * u) * 0x01010101u; /* bytes beyond the table give 0 */
    const uint32x4_t low = {0xffffff00u, 0xffffff01u, 0xffffff02u, 0xffffff03u};
    const uint32x4_t high = {0x00ffffffu, 0x01ffffffu, 0x02ffffffu, 0x03ffffffu};
    const uint8x16_t table = vld1q_u8((const uint8_t *)from);
    const uint32x4_t by = is_signed ? high + (first & 0xff000000u) : low + (first & 0xffu);
    const vi x = (vi)vqtbl1q_u8(table, (uint8x16_t)by);
    return is_signed ? vi_sar(x, 24) : x;
}

#else

FIXED vi ggml_move(vi word, const int shift)
{
    return shift < 0 ? vi_shl(word, -shift) : shift > 0 ? vi_shr(word, shift) : word;
}

FIXED vi ggml_field(vi word, const int shift, const int count)
{
    return ggml_bits(word, shift, (1 << count) - 1);
}

FIXED vi ggml_join(vi low, vi high, const int below, const int count)
{
    const int above = ((1 << count) - 1) << below;
    return vi_or(ggml_bits(low, 0, (1 << below) - 1), ggml_bits(high, 0, above));
}

FIXED vi ggml_above(vi low, vi high)
{
    return vi_or(ggml_bits(low, 0, 15), vi_shl(high, 4));
}

FIXED vi ggml_plane_at(const ggml_group *o, const int w, const size_t u, const int at)
{
    return vi_shl(vi_shr(ggml_word(o->high, w, u), o->shift), at);
}

FIXED vi ggml_numbers(const int8_t *from, const size_t u, const bool is_signed)
{
    (void)is_signed;
    return vi_load_i8(from + u * VF);
}

#endif

/* Levels of weights 4 * w to 4 * w + 3 of a run of 32, a byte each. */
FIXED vi ggml_run_level(const takt_ggml_format format, const ggml_group *o, const int run,
                        const int w, const size_t u)
{
    switch (format) {
    case TAKT_GGML_Q2_K: return ggml_field(ggml_word(o->low, w, u), 2 * run, 2);
    case TAKT_GGML_Q3_K:
        return ggml_join(ggml_move(ggml_word(o->low, w, u), 2 * run),
                         ggml_move(ggml_plane_at(o, w, u, 2), run), 2, 1);
    case TAKT_GGML_Q4_K: return ggml_field(ggml_word(o->low, w, u), 4 * run, 4);
    case TAKT_GGML_IQ4_XS:
        return ggml_look_up(format, ggml_field(ggml_word(o->low, w % 4, u), w / 4 * 4, 4));
    case TAKT_GGML_Q5_K:
        return ggml_join(ggml_move(ggml_word(o->low, w, u), 4 * run),
                         ggml_move(ggml_plane_at(o, w, u, 4), run), 4, 1);
    default: /* Q6_K */
        return ggml_above(ggml_move(ggml_word(o->low, run % 2 * 8 + w, u), run / 2 * 4),
                          ggml_field(ggml_word(o->high, w, u), 2 * run, 2));
    }
}

#endif

/* level.h - levels, scales and minima of a block of a panel as vectors: lane = column.
 *
 * Formats are constants wherever these functions are used, so that nothing of their choices
 * remains; so are groups and parts of blocks of 32. Parts of super-blocks are counted by a loop,
 * which costs less than the code of all of them.
 */
#ifndef TAKT_KERNEL_GGML_PANELS_LEVEL_H
#define TAKT_KERNEL_GGML_PANELS_LEVEL_H

#include "kernel/ggml_panels/ggml_panels.h"
#include "kernel/simd/look_up.h"

#define FIXED static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { VECTORS = TAKT_GGML_PANEL / VF };

/* Prefetches lines [from, end) of what is `AHEAD` bytes after this block: the hardware prefetcher
 * does not cross pages, and is too late where much is done with a line. More than some 30 lines at
 * once would keep the loads that follow waiting. On ARM they go to L2, from where the hardware
 * brings them in time: there are more places for lines that are on their way. */
FIXED void ggml_prefetch_lines(const uint8_t *p, const size_t from, const size_t end)
{
    enum { LINE = 64, IS_ARM = TAKT_SIMD_SET == 2, AHEAD = IS_ARM ? 8192 : 4096 };
    UNROLL for (size_t i = from; i < end; i++)
        __builtin_prefetch(p + AHEAD + i * LINE, 0, IS_ARM ? 2 : 3);
}

/* Lines of a panel's block. */
FIXED size_t ggml_lines(const takt_ggml_format format)
{
    return ((size_t)TAKT_GGML_PANEL * takt_ggml_formats[format].bytes + 63) / 64;
}

FIXED void ggml_prefetch(const takt_ggml_format format, const uint8_t *p)
{
    ggml_prefetch_lines(p, 0, ggml_lines(format));
}

/* The parts of a format. */
typedef struct ggml_shape {
    int words, halves; /* of a panel's block, each for sixteen columns */
    int weights, span; /* of a block, and of the part of it that has a scale */
    int zero;          /* offset subtracted from a level */
    bool has_min;
} ggml_shape;

FIXED ggml_shape ggml_shape_of(const takt_ggml_format format)
{
    switch (format) {
    case TAKT_GGML_Q4_0: return (ggml_shape){4, 1, 32, 32, 8, false};
    case TAKT_GGML_Q4_1: return (ggml_shape){4, 2, 32, 32, 0, true};
    case TAKT_GGML_Q5_0: return (ggml_shape){5, 1, 32, 32, 16, false};
    case TAKT_GGML_Q5_1: return (ggml_shape){5, 2, 32, 32, 0, true};
    case TAKT_GGML_Q8_0: return (ggml_shape){8, 1, 32, 32, 0, false};
    case TAKT_GGML_Q2_K: return (ggml_shape){16, 2, 256, 16, 0, true};
    case TAKT_GGML_Q3_K: return (ggml_shape){24, 1, 256, 16, 4, false};
    case TAKT_GGML_Q4_K: return (ggml_shape){32, 2, 256, 32, 0, true};
    case TAKT_GGML_Q5_K: return (ggml_shape){40, 2, 256, 32, 0, true};
    case TAKT_GGML_IQ4_NL: return (ggml_shape){4, 1, 32, 32, 0, false};
    case TAKT_GGML_IQ4_XS: return (ggml_shape){32, 1, 256, 32, 0, false};
    case TAKT_GGML_MXFP4: return (ggml_shape){4, 0, 32, 32, 0, false};
    default: return (ggml_shape){48, 1, 256, 16, 32, false}; /* Q6_K */
    }
}

/* Whether levels are signed bytes, directly or from a table. */
FIXED bool ggml_is_signed(const takt_ggml_format format)
{
    return format == TAKT_GGML_Q8_0 || format == TAKT_GGML_IQ4_NL || format == TAKT_GGML_IQ4_XS ||
           format == TAKT_GGML_MXFP4;
}

/* Levels of four bits that are places in a format's table. */
FIXED vi ggml_look_up(const takt_ggml_format format, vi places)
{
    static const int8_t curve[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
    static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    return vi_look_up(format == TAKT_GGML_MXFP4 ? e2m1 : curve, places);
}

FIXED bool ggml_is_super(const takt_ggml_format format)
{
    return ggml_shape_of(format).weights == 256;
}

FIXED vi ggml_word(const uint8_t *p, const int i, const size_t u)
{
    return vi_load((const int32_t *)(const void *)(p + 64 * i) + u * VF);
}

/* Half number i: 0 the scale, 1 that of the minima, or the minimum itself. */
FIXED vf ggml_half(const takt_ggml_format format, const uint8_t *p, const int i, const size_t u)
{
    const uint8_t *at = p + 64 * ggml_shape_of(format).words + 32 * i;
    if (format == TAKT_GGML_MXFP4) { /* 2^(e - 128), of a byte */
        const vi e = vi_load_u8(at + u * VF);
        const vi usual = vi_shl(vi_sub(e, vi_set1(1)), 23), least = vi_add(e, vi_set1(1));
        return vi_as_vf(vi_select(vi_gt(e, vi_set1(1)), usual, vi_shl(least, 21)));
    }
    return vf_load_f16((const uint16_t *)(const void *)at + u * VF);
}

FIXED vi ggml_byte(const takt_ggml_format format, const uint8_t *p, const int i, const size_t u)
{
    const ggml_shape s = ggml_shape_of(format);
    return vi_load_u8(p + 64 * s.words + 32 * s.halves + 16 * i + u * VF);
}

FIXED vi ggml_bits(vi word, const int shift, const int mask)
{
    const bool stays = __builtin_constant_p(shift) && shift == 0;
    return vi_and(stays ? word : vi_shr(word, shift), vi_set1(mask * 0x01010101));
}

/* Bits of a plane, put above `below` others. */
FIXED vi ggml_plane(vi word, const int shift, const int mask, const int below)
{
    return vi_shl(ggml_bits(word, shift, mask), below);
}

/* Levels of weights 4 * g to 4 * g + 3, a byte each. */
FIXED vi ggml_level(const takt_ggml_format format, const uint8_t *p, const int g, const size_t u)
{
    const int w = g % 8, part = g / 8, half = g / 32, quarter = part % 4;
    switch (format) {
    case TAKT_GGML_Q4_0:
    case TAKT_GGML_Q4_1: return ggml_bits(ggml_word(p, g % 4, u), g / 4 * 4, 15);
    case TAKT_GGML_Q5_0:
    case TAKT_GGML_Q5_1:
        return vi_or(ggml_bits(ggml_word(p, g % 4, u), g / 4 * 4, 15),
                     ggml_plane(ggml_word(p, 4, u), g, 1, 4));
    case TAKT_GGML_Q8_0: return ggml_word(p, g, u);
    case TAKT_GGML_IQ4_NL:
    case TAKT_GGML_MXFP4:
        return ggml_look_up(format, ggml_bits(ggml_word(p, g % 4, u), g / 4 * 4, 15));
    case TAKT_GGML_IQ4_XS:
        return ggml_look_up(format, ggml_bits(ggml_word(p, part * 4 + w % 4, u), w / 4 * 4, 15));
    case TAKT_GGML_Q2_K: return ggml_bits(ggml_word(p, half * 8 + w, u), quarter * 2, 3);
    case TAKT_GGML_Q3_K:
        return vi_or(ggml_bits(ggml_word(p, half * 8 + w, u), quarter * 2, 3),
                     ggml_plane(ggml_word(p, 16 + w, u), part, 1, 2));
    case TAKT_GGML_Q4_K: return ggml_bits(ggml_word(p, part / 2 * 8 + w, u), part % 2 * 4, 15);
    case TAKT_GGML_Q5_K:
        return vi_or(ggml_bits(ggml_word(p, part / 2 * 8 + w, u), part % 2 * 4, 15),
                     ggml_plane(ggml_word(p, 32 + w, u), part, 1, 4));
    default: /* Q6_K */
        return vi_or(
            ggml_bits(ggml_word(p, half * 16 + quarter % 2 * 8 + w, u), quarter / 2 * 4, 15),
            ggml_plane(ggml_word(p, 32 + half * 8 + w, u), quarter * 2, 3, 4));
    }
}

/* The scale of a part of a super-block, a whole number. */
FIXED vi ggml_scale(const takt_ggml_format format, const uint8_t *p, const int part, const size_t u)
{
    const vi six = vi_set1(63), four = vi_set1(15), two = vi_set1(3);
    switch (format) {
    case TAKT_GGML_Q2_K: return vi_and(ggml_byte(format, p, part, u), four);
    case TAKT_GGML_Q3_K: {
        const vi low = part < 8 ? vi_and(ggml_byte(format, p, part, u), four)
                                : vi_shr(ggml_byte(format, p, part - 8, u), 4);
        const vi top = vi_and(vi_shr(ggml_byte(format, p, 8 + part % 4, u), part / 4 * 2), two);
        return vi_sub(vi_or(low, vi_shl(top, 4)), vi_set1(32));
    }
    case TAKT_GGML_IQ4_XS: {
        const vi low = vi_shr(ggml_byte(format, p, 2 + part / 2, u), part % 2 * 4);
        const vi top = vi_shr(ggml_byte(format, p, part / 4, u), part % 4 * 2);
        return vi_sub(vi_or(vi_and(low, four), vi_shl(vi_and(top, two), 4)), vi_set1(32));
    }
    case TAKT_GGML_Q4_K:
    case TAKT_GGML_Q5_K:
        if (part < 4)
            return vi_and(ggml_byte(format, p, part, u), six);
        return vi_or(vi_and(ggml_byte(format, p, part + 4, u), four),
                     vi_shl(vi_shr(ggml_byte(format, p, part - 4, u), 6), 4));
    default: /* Q6_K: a signed byte */ return vi_sar(vi_shl(ggml_byte(format, p, part, u), 24), 24);
    }
}

/* The minimum of a part of a super-block whose format has them. */
FIXED vi ggml_minimum(const takt_ggml_format format, const uint8_t *p, const int part,
                      const size_t u)
{
    if (format == TAKT_GGML_Q2_K)
        return vi_shr(ggml_byte(format, p, part, u), 4);
    if (part < 4)
        return vi_and(ggml_byte(format, p, part + 4, u), vi_set1(63));
    return vi_or(vi_shr(ggml_byte(format, p, part + 4, u), 4),
                 vi_shl(vi_shr(ggml_byte(format, p, part, u), 6), 4));
}

#endif

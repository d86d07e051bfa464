/* neon_small.h - levels as the smallest floats: one operation turns a level into a float.
 *
 * A float whose bits, as an integer, are below 2^24 is that integer times 2^-149, subnormal or not.
 * So a level in bits 16 to 23 is already a float, level * 2^(place - 149), and no exponent has to
 * be inserted and subtracted again. What was tbl, orr, fsub and fmul is
 *
 *     and, fsub, fmul    with a scale of 2^(149 - place) times as much, or
 *     and, fmla          where zero * scale is exact,
 *
 * and a shift for each byte of the words, with the same bits, since only the last operation rounds.
 * (fmla gives +0 where fmul gave a zero with the sign of the scale: scales are above zero here.)
 * Arm's cores take subnormal floats at full speed, which x86-64's do not, unless the program has
 * them flushed to zero.
 */
#ifndef TAKT_KERNEL_BLOCKS_NEON_SMALL_H
#define TAKT_KERNEL_BLOCKS_NEON_SMALL_H

#include "kernel/blocks/widen.h"

/* In memory: a product of two vectors that were computed has half the rate on a Neoverse V1. */
typedef struct small_parameters {
    float scale[4][TAKT_BLOCKS_PANEL]; /* [j]: of levels at bit 16 + bits * j */
    float zero[4][TAKT_BLOCKS_PANEL];  /* as such levels; or -zero * scale, to which is added */
} small_parameters;

typedef struct small_ways {
    bool is_small; /* it may be used: subnormal floats are not flushed to zero */
    bool adds;     /* zero * scale is exact */
} small_ways;

static inline small_ways small_find(const takt_blocks *b)
{
    const volatile float least = 0x1p-149F;
    return (small_ways){least * 0x1p127F == 0x1p-22F, !b->zero && (b->level & (b->level - 1)) == 0};
}

/* By how many powers of two a scale is scaled up: as many as a level is too small by; or, where
 * that would overflow, fewer by SMALL_SHORT, so that a weight comes out as 2^-SMALL_SHORT of
 * itself, with the same digits. */
enum { SMALL_LIFT = 133, SMALL_SHORT = 32 };
#define SMALL_UP 0x1p32F /* 2^SMALL_SHORT */

/* False if a scale has no such lift: it is zero, subnormal, too small or too large, or negative and
 * added to. */
FIXED bool small_open(const takt_blocks *b, size_t at, unsigned lift, small_parameters *s,
                      const unsigned bits, const bool adds)
{
    const uint32_t least = (SMALL_LIFT + 1 - lift) << 23, end = (255 - lift) << 23;
    const float minus = -b->level * (lift == SMALL_LIFT ? 1 : 1 / SMALL_UP);
    uint32x4_t fits = vdupq_n_u32(~0U);
    vf scale[VECTORS];
    UNROLL for (size_t v = 0; v < VECTORS; v++) scale[v] =
        b->scale_is_f16 ? vf_load_f16((const uint16_t *)b->scale + at + v * VF)
                        : vf_load((const float *)b->scale + at + v * VF);
    UNROLL for (size_t v = 0; v < VECTORS; v++)
    {
        const uint32x4_t x = vreinterpretq_u32_f32(scale[v]);
        const vf level =
            adds || !b->zero ? vf_set1(b->level) : vf_from_vi(vi_load_u8(b->zero + at + v * VF));
        const uint32x4_t size = adds ? x : vbicq_u32(x, vdupq_n_u32(0x80000000));
        fits = vandq_u32(fits,
                         vcltq_u32(vsubq_u32(size, vdupq_n_u32(least)), vdupq_n_u32(end - least)));
        UNROLL for (unsigned j = 0; j < 8 / bits; j++)
        {
            const uint32x4_t up = vaddq_u32(x, vdupq_n_u32((lift - bits * j) << 23));
            const vf unit = vf_set1(0x1p-133F * (float)(1U << bits * j));
            vf_store(s->scale[j] + v * VF, vreinterpretq_f32_u32(up));
            if (!adds)
                vf_store(s->zero[j] + v * VF, vf_mul(level, unit));
        }
        if (adds)
            vf_store(s->zero[0] + v * VF, vf_mul(vf_set1(minus), scale[v]));
    }
    return vminvq_u32(fits) != 0;
}

/* With *lift, or with the other one, which it is then. */
FIXED bool small_open_any(const takt_blocks *b, size_t at, unsigned *lift, small_parameters *s,
                          const unsigned bits, const bool adds)
{
    for (int tries = 0; tries < 2; tries++) {
        if (small_open(b, at, *lift, s, bits, adds))
            return true;
        *lift = 2 * SMALL_LIFT - SMALL_SHORT - *lift;
    }
    return false;
}

/* clang-format off */
#define SMALL_MASK(x) {(x) << 16, (x) << 16, (x) << 16, (x) << 16}
/* clang-format on */

/* Of levels at bits 16 + bits * j. */
static inline const uint32_t (*small_masks(unsigned bits))[4]
{
    static const uint32_t masks[3][4][4] = {
        {SMALL_MASK(0x03U), SMALL_MASK(0x0cU), SMALL_MASK(0x30U), SMALL_MASK(0xc0U)},
        {SMALL_MASK(0x0fU), SMALL_MASK(0xf0U)},
        {SMALL_MASK(0xffU)},
    };
    return masks[bits / 4];
}

/* Assembly: a vector of words, and each of its bytes at bits 16 to 23 of a register. */
/* clang-format off */
#define SMALL_WORDS(at, a, b, c, d)                                                                \
    "ldr q" c ", [%[w], #" at "]\n\tshl v" a ".4s, v" c ".4s, #16\n\t"                             \
    "shl v" b ".4s, v" c ".4s, #8\n\tushr v" d ".4s, v" c ".4s, #8\n\t"
/* clang-format on */

#endif

/* sum_i8_neon.c - sixteen elements at a time.
 *
 * Vectors are for what LiteRT's ADD and SUB ask for: 20 bits, and one operand, that with the larger
 * scale, times exactly a half. That one is (v - zero) * 2^19 and is added by a multiplication. The
 * rest is left to plain.inc, as are shifts to the left and the least number as a multiplier, which
 * wraps.
 */
#include "kernel/sum_i8/sum_i8.h"

#include <arm_neon.h>

#include "kernel/sum_i8/plain.inc"

#define INLINE static inline __attribute__((always_inline))

/* Differences of bytes have nine bits: six more fit into 16; the others come with the widening. */
enum { BITS = 20, HALF = 1 << 30, FIRST = 6, REST = BITS - FIRST };

/* A multiplier and a shift to the right, in every lane. */
typedef struct fixed {
    int32x4_t multiplier, right;
} fixed;

INLINE fixed fixed_of(int32_t multiplier, int32_t shift)
{
    return (fixed){vdupq_n_s32(multiplier), vdupq_n_s32(-(int32_t)((0u - (uint32_t)shift) & 31))};
}

/* takt_fixed_scale: negative ones become one less before the shift, whose halves go up, unless no
 * negative half matters. */
INLINE int32x4_t scaled(int32x4_t x, fixed f, const bool has_ties)
{
    const int32x4_t high = vqrdmulhq_s32(x, f.multiplier);
    return vrshlq_s32(has_ties ? vsraq_n_s32(high, high, 31) : high, f.right);
}

/* What does not change from one element to the next: `x` is scaled, `h` is halved. */
typedef struct job {
    const uint8_t *x, *h;
    fixed scale, y;
    uint8x16_t sign; /* of bytes without a sign: what makes them such with one */
    int8x8_t x_zero, h_zero;
    int16x8_t zero;
    int16_t half; /* 2^13, or its negative where h is taken away */
} job;

/* What is known when the loop is compiled. */
typedef struct kind {
    bool has_ties;  /* of x */
    bool has_below; /* results below the zero point are not cut off */
    bool is_less;   /* x is taken away */
} kind;

INLINE int16x8_t less_zero(uint8x8_t v, int8x8_t zero)
{
    return vmulq_n_s16(vsubl_s8(vreinterpret_s8_u8(v), zero), 1 << FIRST);
}

INLINE int32x4_t four(const job *j, int16x4_t x, int16x4_t h, const kind k)
{
    const int32x4_t one = scaled(vmull_n_s16(x, 1 << REST), j->scale, k.has_ties);
    const int32x4_t sum =
        k.is_less ? vsubq_s32(vmull_n_s16(h, j->half), one) : vmlal_n_s16(one, h, j->half);
    return scaled(sum, j->y, k.has_below);
}

INLINE int16x8_t eight(const job *j, uint8x8_t x, uint8x8_t h, const kind k)
{
    const int16x8_t a = less_zero(x, j->x_zero), b = less_zero(h, j->h_zero);
    const int32x4_t low = four(j, vget_low_s16(a), vget_low_s16(b), k),
                    high = four(j, vget_high_s16(a), vget_high_s16(b), k);
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(low), high), j->zero);
}

INLINE size_t vectors(const takt_sum_i8 *s, const job *given, const kind k)
{
    const job j = *given;
    const int16x8_t lo = vdupq_n_s16((int16_t)s->lo), hi = vdupq_n_s16((int16_t)s->hi);
    uint8_t *y = s->y;
    const size_t n = s->n;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16_t p = veorq_u8(vld1q_u8(j.x + i), j.sign),
                         q = veorq_u8(vld1q_u8(j.h + i), j.sign);
        const int16x8_t low = eight(&j, vget_low_u8(p), vget_low_u8(q), k),
                        high = eight(&j, vget_high_u8(p), vget_high_u8(q), k);
        const int16x8_t first = vminq_s16(vmaxq_s16(low, lo), hi),
                        second = vminq_s16(vmaxq_s16(high, lo), hi);
        vst1q_u8(y + i, vmovn_high_u16(vmovn_u16(vreinterpretq_u16_s16(first)),
                                       vreinterpretq_u16_s16(second)));
    }
    return i;
}

static size_t run_vectors(const takt_sum_i8 *s, const job *j, bool has_ties)
{
    const bool has_below = s->lo < s->zero;
    if (s->is_less && j->half > 0)
        return has_ties ? vectors(s, j, (kind){true, true, true})
                        : vectors(s, j, (kind){false, true, true});
    if (has_ties)
        return has_below ? vectors(s, j, (kind){true, true, false})
                         : vectors(s, j, (kind){true, false, false});
    return has_below ? vectors(s, j, (kind){false, true, false})
                     : vectors(s, j, (kind){false, false, false});
}

static bool is_half(const takt_sum_grid *o)
{
    return o->multiplier == HALF && o->shift == 0;
}

static bool stays(int32_t shift)
{
    return ((uint32_t)shift & 31) == 0;
}

static bool is_plain(int32_t multiplier, int32_t shift)
{
    return multiplier == INT32_MIN || shift > 0;
}

static void run(const takt_sum_i8 *s)
{
    const bool is_first = is_half(&s->of[0]); /* is halved */
    const takt_sum_grid *x = &s->of[is_first ? 1 : 0], *h = &s->of[is_first ? 0 : 1];
    if (!is_half(h) || is_plain(x->multiplier, x->shift) || is_plain(s->multiplier, s->shift) ||
        stays(s->shift) || s->bits != BITS) {
        plain(s, 0);
        return;
    }
    const int16_t half = 1 << (REST - 1);
    const job j = {.x = is_first ? s->b : s->a,
                   .h = is_first ? s->a : s->b,
                   .scale = fixed_of(x->multiplier, x->shift),
                   .y = fixed_of(s->multiplier, s->shift),
                   .sign = vdupq_n_u8(s->is_unsigned ? 128 : 0),
                   .x_zero = vdup_n_s8((int8_t)(x->zero - (s->is_unsigned ? 128 : 0))),
                   .h_zero = vdup_n_s8((int8_t)(h->zero - (s->is_unsigned ? 128 : 0))),
                   .zero = vdupq_n_s16((int16_t)s->zero),
                   .half = s->is_less && !is_first ? -half : half};
    plain(s, run_vectors(s, &j, s->has_ties && !stays(x->shift)));
}

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "neon", 10, run, NULL));

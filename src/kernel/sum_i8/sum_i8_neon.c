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
    int16x8_t x_zero, h_zero; /* times -2^6 */
    int16x8_t zero;
    uint8x16_t lo, hi;
    uint8x16_t top, sign; /* of levels from 0 on: the greatest, and what makes a byte of one */
    int16_t half;         /* 2^13, or its negative where h is taken away */
} job;

/* What is known when the loop is compiled. */
typedef struct kind {
    bool is_unsigned;
    bool has_ties; /* of x */
    bool is_above; /* bytes are levels from 0 on, as those of a relu */
    bool is_less;  /* x is taken away */
} kind;

/* (v - zero) * 2^6 of the first eight bytes, and of the others. */
INLINE int16x8_t first_of(uint8x16_t v, int16x8_t zero, const kind k)
{
    const uint8x8_t low = vget_low_u8(v);
    return k.is_unsigned ? vreinterpretq_s16_u16(
                               vmlal_u8(vreinterpretq_u16_s16(zero), low, vdup_n_u8(1 << FIRST)))
                         : vmlal_s8(zero, vreinterpret_s8_u8(low), vdup_n_s8(1 << FIRST));
}

INLINE int16x8_t second_of(uint8x16_t v, int16x8_t zero, const kind k)
{
    return k.is_unsigned ? vreinterpretq_s16_u16(vmlal_high_u8(vreinterpretq_u16_s16(zero), v,
                                                               vdupq_n_u8(1 << FIRST)))
                         : vmlal_high_s8(zero, vreinterpretq_s8_u8(v), vdupq_n_s8(1 << FIRST));
}

/* The levels of eight sums; those below 0 may be one greater where they are cut off. */
INLINE int16x8_t eight(const job *j, int16x8_t x, int16x8_t h, const kind k)
{
    const int16x4_t rest = vdup_n_s16(1 << REST), half = vdup_n_s16(j->half);
    const int16x8_t rests = vcombine_s16(rest, rest), halves = vcombine_s16(half, half);
    int32x4_t low = scaled(vmull_s16(vget_low_s16(x), rest), j->scale, k.has_ties),
              high = scaled(vmull_high_s16(x, rests), j->scale, k.has_ties);
    if (k.is_less) {
        low = vsubq_s32(vmull_s16(vget_low_s16(h), half), low);
        high = vsubq_s32(vmull_high_s16(h, halves), high);
    } else {
        low = vmlal_s16(low, vget_low_s16(h), half);
        high = vmlal_high_s16(high, h, halves);
    }
    return vqmovn_high_s32(vqmovn_s32(scaled(low, j->y, !k.is_above)),
                           scaled(high, j->y, !k.is_above));
}

INLINE uint8x16_t bytes_of(const job *j, int16x8_t low, int16x8_t high, const kind k)
{
    if (k.is_above) /* narrowing cuts off the others */
        return veorq_u8(vminq_u8(vqmovun_high_s16(vqmovun_s16(low), high), j->top), j->sign);
    low = vqaddq_s16(low, j->zero);
    high = vqaddq_s16(high, j->zero);
    if (k.is_unsigned)
        return vminq_u8(vmaxq_u8(vqmovun_high_s16(vqmovun_s16(low), high), j->lo), j->hi);
    const int8x16_t y = vqmovn_high_s16(vqmovn_s16(low), high);
    return vreinterpretq_u8_s8(
        vminq_s8(vmaxq_s8(y, vreinterpretq_s8_u8(j->lo)), vreinterpretq_s8_u8(j->hi)));
}

INLINE size_t vectors(const takt_sum_i8 *s, const job *given, const kind k)
{
    const job j = *given;
    uint8_t *y = s->y;
    const size_t n = s->n;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16_t x = vld1q_u8(j.x + i), h = vld1q_u8(j.h + i);
        const int16x8_t low = eight(&j, first_of(x, j.x_zero, k), first_of(h, j.h_zero, k), k),
                        high = eight(&j, second_of(x, j.x_zero, k), second_of(h, j.h_zero, k), k);
        vst1q_u8(y + i, bytes_of(&j, low, high, k));
    }
    return i;
}

/* `k` without has_ties and is_above, which become known here. */
INLINE size_t run_kind(const takt_sum_i8 *s, const job *j, bool has_ties, const kind k)
{
    const int32_t least = k.is_unsigned ? 0 : -128;
    const kind ties = {k.is_unsigned, true, false, k.is_less};
    if (s->zero == least && s->lo == least)
        return has_ties ? vectors(s, j, (kind){k.is_unsigned, true, true, k.is_less})
                        : vectors(s, j, (kind){k.is_unsigned, false, true, k.is_less});
    return has_ties ? vectors(s, j, ties) : vectors(s, j, k);
}

static size_t run_vectors(const takt_sum_i8 *s, const job *j, bool has_ties)
{
    const bool is_less = s->is_less && j->half > 0;
    if (s->is_unsigned)
        return is_less ? run_kind(s, j, has_ties, (kind){true, false, false, true})
                       : run_kind(s, j, has_ties, (kind){true, false, false, false});
    return is_less ? run_kind(s, j, has_ties, (kind){false, false, false, true})
                   : run_kind(s, j, has_ties, (kind){false, false, false, false});
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
    const int32_t least = s->is_unsigned ? 0 : -128;
    const job j = {.x = is_first ? s->b : s->a,
                   .h = is_first ? s->a : s->b,
                   .scale = fixed_of(x->multiplier, x->shift),
                   .y = fixed_of(s->multiplier, s->shift),
                   .x_zero = vdupq_n_s16((int16_t)(x->zero * -(1 << FIRST))),
                   .h_zero = vdupq_n_s16((int16_t)(h->zero * -(1 << FIRST))),
                   .zero = vdupq_n_s16((int16_t)s->zero),
                   .lo = vdupq_n_u8((uint8_t)s->lo),
                   .hi = vdupq_n_u8((uint8_t)s->hi),
                   .top = vdupq_n_u8((uint8_t)(s->hi - least)),
                   .sign = vdupq_n_u8(s->is_unsigned ? 0 : 0x80),
                   .half = s->is_less && !is_first ? -half : half};
    plain(s, run_vectors(s, &j, s->has_ties && !stays(x->shift)));
}

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "neon", 10, run, NULL));

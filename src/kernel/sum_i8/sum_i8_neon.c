/* sum_i8_neon.c - sixteen elements at a time.
 *
 * Shifts to the left, and the least number as a multiplier, which wraps, are left to plain.h, as
 * are sums that are not shifted and operands raised by fewer than 16 bits or more than 22.
 */
#include "kernel/sum_i8/sum_i8.h"

#include <arm_neon.h>

#include "kernel/sum_i8/plain.h"

#define INLINE static inline __attribute__((always_inline))

/* A multiplier and a shift to the right, in every lane. */
typedef struct fixed {
    int32x4_t multiplier, right;
} fixed;

INLINE fixed fixed_of(int32_t multiplier, int32_t shift)
{
    return (fixed){vdupq_n_s32(multiplier), vdupq_n_s32(-(int32_t)((0u - (uint32_t)shift) & 31))};
}

/* takt_fixed_scale: negative ones become one less before the shift, whose halves go up; a shift by
 * 0 does not round, and is known as `stays`. */
INLINE int32x4_t scaled(int32x4_t x, fixed f, const bool stays)
{
    const int32x4_t high = vqrdmulhq_s32(x, f.multiplier);
    return stays ? high : vrshlq_s32(vsraq_n_s32(high, high, 31), f.right);
}

/* What does not change from one element to the next. */
typedef struct job {
    fixed a, b, y;
    int16x8_t bits; /* beyond 16 */
    int16x8_t a_zero, b_zero, zero;
    bool is_less;
} job;

/* Which operands are not shifted. */
typedef struct stay {
    bool a, b;
} stay;

INLINE int32x4_t four(const job *j, int32x4_t a, int32x4_t b, const stay stays)
{
    const int32x4_t x = scaled(a, j->a, stays.a), y = scaled(b, j->b, stays.b);
    return scaled(j->is_less ? vsubq_s32(x, y) : vaddq_s32(x, y), j->y, false);
}

/* Differences of bytes have nine bits: six more fit into 16, and 16 more into 32. */
INLINE int16x8_t eight(const job *j, int16x8_t a, int16x8_t b, const stay stays)
{
    const int16x8_t x = vshlq_s16(vsubq_s16(a, j->a_zero), j->bits),
                    y = vshlq_s16(vsubq_s16(b, j->b_zero), j->bits);
    const int32x4_t low = four(j, vshll_n_s16(vget_low_s16(x), 16),
                               vshll_n_s16(vget_low_s16(y), 16), stays),
                    high = four(j, vshll_high_n_s16(x, 16), vshll_high_n_s16(y, 16), stays);
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(low), high), j->zero);
}

INLINE int16x8_t low_half(uint8x16_t v, const bool is_unsigned)
{
    return is_unsigned ? vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v)))
                       : vmovl_s8(vget_low_s8(vreinterpretq_s8_u8(v)));
}

INLINE int16x8_t high_half(uint8x16_t v, const bool is_unsigned)
{
    return is_unsigned ? vreinterpretq_s16_u16(vmovl_high_u8(v))
                       : vmovl_high_s8(vreinterpretq_s8_u8(v));
}

INLINE size_t vectors(const takt_sum_i8 *s, const job *given, const bool is_unsigned,
                      const stay stays)
{
    const job j = *given;
    const int16x8_t lo = vdupq_n_s16((int16_t)s->lo), hi = vdupq_n_s16((int16_t)s->hi);
    const uint8_t *a = s->a, *b = s->b;
    uint8_t *y = s->y;
    const size_t n = s->n;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16_t p = vld1q_u8(a + i), q = vld1q_u8(b + i);
        const int16x8_t low = eight(&j, low_half(p, is_unsigned), low_half(q, is_unsigned), stays),
                        high =
                            eight(&j, high_half(p, is_unsigned), high_half(q, is_unsigned), stays);
        const int16x8_t first = vminq_s16(vmaxq_s16(low, lo), hi),
                        second = vminq_s16(vmaxq_s16(high, lo), hi);
        vst1q_u8(y + i, vmovn_high_u16(vmovn_u16(vreinterpretq_u16_s16(first)),
                                       vreinterpretq_u16_s16(second)));
    }
    return i;
}

INLINE size_t of_sign(const takt_sum_i8 *s, const job *j, const stay stays)
{
    return s->is_unsigned ? vectors(s, j, true, stays) : vectors(s, j, false, stays);
}

static bool stays(int32_t shift)
{
    return ((uint32_t)shift & 31) == 0;
}

static bool is_plain(int32_t multiplier, int32_t shift)
{
    return multiplier == INT32_MIN || shift > 0;
}

/* The operand with the larger scale is not shifted. */
static size_t run_vectors(const takt_sum_i8 *s, const job *j)
{
    const bool a = stays(s->of[0].shift), b = stays(s->of[1].shift);
    if (a && b)
        return of_sign(s, j, (stay){true, true});
    if (a)
        return of_sign(s, j, (stay){true, false});
    return b ? of_sign(s, j, (stay){false, true}) : of_sign(s, j, (stay){false, false});
}

static void run(const takt_sum_i8 *s)
{
    const takt_sum_grid *a = &s->of[0], *b = &s->of[1];
    if (is_plain(a->multiplier, a->shift) || is_plain(b->multiplier, b->shift) ||
        is_plain(s->multiplier, s->shift) || stays(s->shift) || s->bits < 16 || s->bits > 22) {
        plain(s, 0);
        return;
    }
    const job j = {.a = fixed_of(a->multiplier, a->shift),
                   .b = fixed_of(b->multiplier, b->shift),
                   .y = fixed_of(s->multiplier, s->shift),
                   .bits = vdupq_n_s16((int16_t)(s->bits - 16)),
                   .a_zero = vdupq_n_s16((int16_t)a->zero),
                   .b_zero = vdupq_n_s16((int16_t)b->zero),
                   .zero = vdupq_n_s16((int16_t)s->zero),
                   .is_less = s->is_less};
    plain(s, run_vectors(s, &j));
}

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "neon", 10, run, NULL));

/* sum_i8_neon.c - sixteen elements at a time.
 *
 * Shifts to the left, and the least number as a multiplier, which wraps, are left to plain.h.
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

/* takt_fixed_scale: negative ones become one less before the shift, whose halves go up. */
INLINE int32x4_t scaled(int32x4_t x, fixed f)
{
    const int32x4_t high = vqrdmulhq_s32(x, f.multiplier);
    return vrshlq_s32(vsraq_n_s32(high, vandq_s32(high, f.right), 31), f.right);
}

/* What does not change from one element to the next. */
typedef struct job {
    fixed a, b, y;
    int32x4_t bits;
    int16x8_t a_zero, b_zero, zero;
    bool is_less;
} job;

INLINE int32x4_t four(const job *j, int16x4_t a, int16x4_t b)
{
    const int32x4_t x = scaled(vshlq_s32(vmovl_s16(a), j->bits), j->a),
                    y = scaled(vshlq_s32(vmovl_s16(b), j->bits), j->b);
    return scaled(j->is_less ? vsubq_s32(x, y) : vaddq_s32(x, y), j->y);
}

INLINE int16x8_t eight(const job *j, int16x8_t a, int16x8_t b)
{
    const int16x8_t x = vsubq_s16(a, j->a_zero), y = vsubq_s16(b, j->b_zero);
    const int32x4_t low = four(j, vget_low_s16(x), vget_low_s16(y)),
                    high = four(j, vget_high_s16(x), vget_high_s16(y));
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

INLINE size_t vectors(const takt_sum_i8 *s, const job *given, const bool is_unsigned)
{
    const job j = *given;
    const int16x8_t lo = vdupq_n_s16((int16_t)s->lo), hi = vdupq_n_s16((int16_t)s->hi);
    const uint8_t *a = s->a, *b = s->b;
    uint8_t *y = s->y;
    const size_t n = s->n;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16_t p = vld1q_u8(a + i), q = vld1q_u8(b + i);
        const int16x8_t low = eight(&j, low_half(p, is_unsigned), low_half(q, is_unsigned)),
                        high = eight(&j, high_half(p, is_unsigned), high_half(q, is_unsigned));
        const int16x8_t first = vminq_s16(vmaxq_s16(low, lo), hi),
                        second = vminq_s16(vmaxq_s16(high, lo), hi);
        vst1q_u8(y + i, vmovn_high_u16(vmovn_u16(vreinterpretq_u16_s16(first)),
                                       vreinterpretq_u16_s16(second)));
    }
    return i;
}

static bool is_plain(int32_t multiplier, int32_t shift)
{
    return multiplier == INT32_MIN || shift > 0;
}

static void run(const takt_sum_i8 *s)
{
    const takt_sum_grid *a = &s->of[0], *b = &s->of[1];
    if (is_plain(a->multiplier, a->shift) || is_plain(b->multiplier, b->shift) ||
        is_plain(s->multiplier, s->shift)) {
        plain(s, 0);
        return;
    }
    const job j = {.a = fixed_of(a->multiplier, a->shift),
                   .b = fixed_of(b->multiplier, b->shift),
                   .y = fixed_of(s->multiplier, s->shift),
                   .bits = vdupq_n_s32(s->bits),
                   .a_zero = vdupq_n_s16((int16_t)a->zero),
                   .b_zero = vdupq_n_s16((int16_t)b->zero),
                   .zero = vdupq_n_s16((int16_t)s->zero),
                   .is_less = s->is_less};
    plain(s, s->is_unsigned ? vectors(s, &j, true) : vectors(s, &j, false));
}

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "neon", 10, run, NULL));

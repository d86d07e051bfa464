/* mul_i8_neon.c - sixteen elements at a time; shifts to the left and the least number as a
 * multiplier, which wraps, are left to plain.inc. */
#include "kernel/mul_i8/mul_i8.h"

#include <arm_neon.h>

#include "kernel/mul_i8/plain.inc"

#define INLINE static inline __attribute__((always_inline))

/* What does not change from one element to the next. */
typedef struct job {
    int16x8_t a_zero, b_zero, zero;
    int32x4_t multiplier, right;
    int16x8_t lo, hi; /* of results before the zero point is added */
} job;

INLINE int16x8_t low_of(uint8x16_t v, const bool is_unsigned)
{
    return is_unsigned ? vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v)))
                       : vmovl_s8(vreinterpret_s8_u8(vget_low_u8(v)));
}

INLINE int16x8_t high_of(uint8x16_t v, const bool is_unsigned)
{
    return is_unsigned ? vreinterpretq_s16_u16(vmovl_high_u8(v))
                       : vmovl_high_s8(vreinterpretq_s8_u8(v));
}

/* takt_fixed_scale: negative ones become one less before the shift, whose halves go up. */
INLINE int32x4_t scaled(const job *j, int32x4_t x)
{
    const int32x4_t high = vqrdmulhq_s32(x, j->multiplier);
    return vrshlq_s32(vsraq_n_s32(high, high, 31), j->right);
}

/* Eight levels, zero point included. */
INLINE int16x8_t eight(const job *j, int16x8_t a, int16x8_t b)
{
    a = vsubq_s16(a, j->a_zero);
    b = vsubq_s16(b, j->b_zero);
    const int32x4_t low = scaled(j, vmull_s16(vget_low_s16(a), vget_low_s16(b))),
                    high = scaled(j, vmull_high_s16(a, b));
    const int16x8_t r = vqmovn_high_s32(vqmovn_s32(low), high);
    return vaddq_s16(vminq_s16(vmaxq_s16(r, j->lo), j->hi), j->zero);
}

INLINE size_t vectors(const takt_mul_i8 *s, const bool is_unsigned)
{
    const job j = {.a_zero = vdupq_n_s16((int16_t)s->a_zero),
                   .b_zero = vdupq_n_s16((int16_t)s->b_zero),
                   .zero = vdupq_n_s16((int16_t)s->zero),
                   .multiplier = vdupq_n_s32(s->multiplier),
                   .right = vdupq_n_s32(s->shift),
                   .lo = vdupq_n_s16((int16_t)(s->lo - s->zero)),
                   .hi = vdupq_n_s16((int16_t)(s->hi - s->zero))};
    size_t i = 0;
    for (; i + 16 <= s->n; i += 16) {
        const uint8x16_t a = vld1q_u8(s->a + i), b = vld1q_u8(s->b + i);
        const int16x8_t low = eight(&j, low_of(a, is_unsigned), low_of(b, is_unsigned)),
                        high = eight(&j, high_of(a, is_unsigned), high_of(b, is_unsigned));
        vst1q_u8(s->y + i, vuzp1q_u8(vreinterpretq_u8_s16(low), vreinterpretq_u8_s16(high)));
    }
    return i;
}

static void run(const takt_mul_i8 *given)
{
    const takt_mul_i8 s = *given;
    if (!takt_fixed_goes_right(&s.multiplier, &s.shift, 1))
        plain(&s, 0);
    else
        plain(&s, s.is_unsigned ? vectors(&s, true) : vectors(&s, false));
}

TAKT_KERNELS(mul_i8, TAKT_KERNEL(mul_i8, "neon", 10, run, NULL));

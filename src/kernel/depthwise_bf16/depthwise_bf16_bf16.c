/* depthwise_bf16_bf16.c - depthwise convolution by bfmlalb and bfmlalt: even and odd channels. */
#include "kernel/depthwise_bf16/depthwise_bf16.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { VECTOR = 8 };

typedef bfloat16x8_t factor;
typedef float32x4x2_t sums; /* of even and of odd channels */

#include "kernel/depthwise_bf16/body.inc"

INLINE factor load(const uint16_t *p, size_t n)
{
    uint16_t part[VECTOR] = {0};
    if (n == VECTOR)
        return vreinterpretq_bf16_u16(vld1q_u16(p));
    memcpy(part, p, n * sizeof *p);
    return vreinterpretq_bf16_u16(vld1q_u16(part));
}

INLINE sums load_bias(const takt_depthwise_bf16 *d, size_t c, size_t n)
{
    float part[VECTOR] = {0};
    if (d->bias != NULL && n == VECTOR)
        return vld2q_f32(d->bias + c);
    if (d->bias != NULL)
        memcpy(part, d->bias + c, n * sizeof *part);
    return vld2q_f32(part);
}

INLINE sums add(sums s, factor x, factor w)
{
    s.val[0] = vbfmlalbq_f32(s.val[0], x, w);
    s.val[1] = vbfmlaltq_f32(s.val[1], x, w);
    return s;
}

/* Halves away from zero. The last 16 bits of a NaN are zeros, so it stays one. */
INLINE void store(const takt_depthwise_bf16 *d, uint16_t *p, size_t n, sums s)
{
    const float32x4_t lo = vdupq_n_f32(d->lo), hi = vdupq_n_f32(d->hi);
    const uint32x4_t half = vdupq_n_u32(0x8000);
    const uint32x4_t e = vreinterpretq_u32_f32(vminq_f32(vmaxq_f32(s.val[0], lo), hi));
    const uint32x4_t o = vreinterpretq_u32_f32(vminq_f32(vmaxq_f32(s.val[1], lo), hi));
    const uint16x8_t both =
        vreinterpretq_u16_u32(vsriq_n_u32(vaddq_u32(o, half), vaddq_u32(e, half), 16));
    uint16_t part[VECTOR];
    if (n == VECTOR) {
        vst1q_u16(p, both);
        return;
    }
    vst1q_u16(part, both);
    memcpy(p, part, n * sizeof *p);
}

TAKT_KERNELS(depthwise_bf16, TAKT_KERNEL(depthwise_bf16, "bf16", 20, run, NULL));

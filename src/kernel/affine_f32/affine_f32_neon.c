/* affine_f32_neon.c - sixteen elements at a time. */
#include "kernel/affine_f32/affine_f32.h"

#include <arm_neon.h>

#include "kernel/affine_f32/plain.inc"

#define INLINE static inline __attribute__((always_inline))

/* Conversion rounds half to even, and turns NaN into 0. */
INLINE int32x4_t quotients(const float *x, float32x4_t scale)
{
    return vcvtnq_s32_f32(vdivq_f32(vld1q_f32(x), scale));
}

INLINE int16x8_t eight(const float *x, float32x4_t scale, int16x8_t zero)
{
    const int32x4_t low = quotients(x, scale), high = quotients(x + 4, scale);
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(low), high), zero);
}

static size_t quantise(const takt_affine_f32 *a)
{
    const float *x = a->x;
    uint8_t *y = a->y;
    const float32x4_t scale = vdupq_n_f32(a->scale);
    const int16x8_t zero = vdupq_n_s16((int16_t)a->zero);
    size_t i = 0;
    for (; a->is_unsigned && i + 16 <= a->n; i += 16)
        vst1q_u8(y + i, vqmovun_high_s16(vqmovun_s16(eight(x + i, scale, zero)),
                                         eight(x + i + 8, scale, zero)));
    for (; !a->is_unsigned && i + 16 <= a->n; i += 16)
        vst1q_s8((int8_t *)y + i, vqmovn_high_s16(vqmovn_s16(eight(x + i, scale, zero)),
                                                  eight(x + i + 8, scale, zero)));
    return i;
}

/* Conversion rounds halves away from zero, and turns NaN into 0. */
INLINE int32x4_t away_four(const float *x, const bool is_product, float32x4_t scale)
{
    const float32x4_t v = vld1q_f32(x);
    return vcvtaq_s32_f32(is_product ? vmulq_f32(v, scale) : vdivq_f32(v, scale));
}

/* Bounds are at most 255, so eight elements of 16 bits hold them and the sum. */
INLINE uint8x8_t away_eight(const float *x, const takt_affine_f32 *a, const bool is_product)
{
    const float32x4_t scale = vdupq_n_f32(a->scale);
    const int32x4_t low = away_four(x, is_product, scale),
                    high = away_four(x + 4, is_product, scale);
    const int16x8_t level =
        vqaddq_s16(vqmovn_high_s32(vqmovn_s32(low), high), vdupq_n_s16((int16_t)a->zero));
    const int16x8_t kept =
        vminq_s16(vmaxq_s16(level, vdupq_n_s16((int16_t)a->lo)), vdupq_n_s16((int16_t)a->hi));
    return vmovn_u16(vreinterpretq_u16_s16(kept));
}

static size_t away_all(const takt_affine_f32 *given)
{
    const takt_affine_f32 a = *given;
    const float *x = a.x;
    uint8_t *y = a.y;
    size_t i = 0;
    for (; a.is_product && i + 8 <= a.n; i += 8)
        vst1_u8(y + i, away_eight(x + i, &a, true));
    for (; !a.is_product && i + 8 <= a.n; i += 8)
        vst1_u8(y + i, away_eight(x + i, &a, false));
    return i;
}

INLINE void four(int32x4_t v, float32x4_t scale, float *y)
{
    vst1q_f32(y, vmulq_f32(vcvtq_f32_s32(v), scale));
}

static size_t dequantise(const takt_affine_f32 *a)
{
    const uint8_t *x = a->x;
    float *y = a->y;
    const float32x4_t scale = vdupq_n_f32(a->scale);
    const int16x8_t zero = vdupq_n_s16((int16_t)a->zero);
    size_t i = 0;
    for (; i + 8 <= a->n; i += 8) {
        const uint8x8_t bytes = vld1_u8(x + i);
        const int16x8_t wide = a->is_unsigned ? vreinterpretq_s16_u16(vmovl_u8(bytes))
                                              : vmovl_s8(vreinterpret_s8_u8(bytes));
        const int16x8_t v = vsubq_s16(wide, zero);
        four(vmovl_s16(vget_low_s16(v)), scale, y + i);
        four(vmovl_high_s16(v), scale, y + i + 4);
    }
    return i;
}

/* Four tables of 64: an index outside a table leaves the lane unchanged. */
static size_t look_up(const takt_affine_f32 *a)
{
    const uint8_t *x = a->x;
    uint8_t *y = a->y;
    const uint8x16x4_t t0 = vld1q_u8_x4(a->table), t1 = vld1q_u8_x4(a->table + 64),
                       t2 = vld1q_u8_x4(a->table + 128), t3 = vld1q_u8_x4(a->table + 192);
    const uint8x16_t step = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= a->n; i += 16) {
        uint8x16_t at = vld1q_u8(x + i), v = vqtbl4q_u8(t0, at);
        at = vsubq_u8(at, step);
        v = vqtbx4q_u8(v, t1, at);
        at = vsubq_u8(at, step);
        v = vqtbx4q_u8(v, t2, at);
        vst1q_u8(y + i, vqtbx4q_u8(v, t3, vsubq_u8(at, step)));
    }
    return i;
}

static void run(const takt_affine_f32 *a)
{
    plain(a, a->kind == TAKT_AFFINE_QUANTISE     ? quantise(a)
             : a->kind == TAKT_AFFINE_DEQUANTISE ? dequantise(a)
             : a->kind == TAKT_AFFINE_AWAY       ? away_all(a)
                                                 : look_up(a));
}

TAKT_KERNELS(affine_f32, TAKT_KERNEL(affine_f32, "neon", 10, run, NULL));

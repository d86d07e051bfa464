/* finish_neon.h - exact sums to bytes, sixteen columns at a time: what requant.h says, in
 * registers. */
#include <arm_neon.h>
#include <string.h>

#define FINISH_INLINE static inline __attribute__((always_inline))

/* Sixteen columns. */
typedef struct sums_16 {
    int32x4_t a, b, c, d;
} sums_16;

/* What does not change from row to row. */
typedef struct finish_16 {
    float32x4_t a, b, c, d; /* scales */
    int16x8_t zero;
    uint8x16_t lo, hi;
    bool is_unsigned;
} finish_16;

/* Bytes by a scale; those in other ways are left to requant.h. */
FINISH_INLINE bool finish_is_bytes(const takt_requant *q)
{
    if (q->multiplier != NULL || q->wide != NULL)
        return false;
    return q->to == TAKT_REQUANT_S8 || q->to == TAKT_REQUANT_U8;
}

/* For columns [col, col + 16), of which `n` exist. */
FINISH_INLINE finish_16 finish_begin(const takt_requant *q, size_t col, size_t n)
{
    finish_16 f = {.zero = vdupq_n_s16((int16_t)q->zero),
                   .lo = vdupq_n_u8((uint8_t)q->lo),
                   .hi = vdupq_n_u8((uint8_t)q->hi),
                   .is_unsigned = q->to == TAKT_REQUANT_U8};
    float some[16] = {0};
    const float *scale = q->scale + col;
    if (!q->scale_per_column) {
        f.a = f.b = f.c = f.d = vdupq_n_f32(q->scale[0]);
        return f;
    }
    if (n < 16) {
        memcpy(some, scale, n * sizeof *some);
        scale = some;
    }
    f.a = vld1q_f32(scale);
    f.b = vld1q_f32(scale + 4);
    f.c = vld1q_f32(scale + 8);
    f.d = vld1q_f32(scale + 12);
    return f;
}

/* Conversion rounds half to even and makes 0 of NaN; it saturates, as does everything after it. */
FINISH_INLINE int16x8_t finish_eight(int32x4_t x, int32x4_t y, float32x4_t x_scale,
                                     float32x4_t y_scale, int16x8_t zero)
{
    const int32x4_t a = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(x), x_scale));
    const int32x4_t b = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(y), y_scale));
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), zero);
}

/* The bytes of sums that have their bias already. */
FINISH_INLINE uint8x16_t finish_bytes(const finish_16 *f, sums_16 s)
{
    const int16x8_t x = finish_eight(s.a, s.b, f->a, f->b, f->zero);
    const int16x8_t y = finish_eight(s.c, s.d, f->c, f->d, f->zero);
    if (f->is_unsigned)
        return vminq_u8(vmaxq_u8(vqmovun_high_s16(vqmovun_s16(x), y), f->lo), f->hi);
    const int8x16_t r = vqmovn_high_s16(vqmovn_s16(x), y);
    return vreinterpretq_u8_s8(
        vminq_s8(vmaxq_s8(r, vreinterpretq_s8_u8(f->lo)), vreinterpretq_s8_u8(f->hi)));
}

FINISH_INLINE sums_16 load_sums(const int32_t *p)
{
    return (sums_16){vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)};
}

/* The first n < 16 bytes of y. */
FINISH_INLINE void finish_some(uint8_t *to, uint8x16_t y, size_t n)
{
    uint8x8_t part = vget_low_u8(y);
    if (n & 8) {
        vst1_u8(to, part);
        part = vget_high_u8(y);
        to += 8;
    }
    uint64_t left = vget_lane_u64(vreinterpret_u64_u8(part), 0);
    if (n & 4) {
        memcpy(to, &left, 4);
        left >>= 32;
        to += 4;
    }
    if (n & 2) {
        memcpy(to, &left, 2);
        left >>= 16;
        to += 2;
    }
    if (n & 1)
        *to = (uint8_t)left;
}

/* finish_neon.h - exact sums to bytes, sixteen columns at a time: what requant.h says, in
 * registers: by a scale, in fixed point, or by a wide scale. */
#include <arm_neon.h>
#include <string.h>

#define FINISH_INLINE static inline __attribute__((always_inline))

/* Sixteen columns. */
typedef struct sums_16 {
    int32x4_t a, b, c, d;
} sums_16;

/* How sums become bytes; RIGHT: in fixed point, without shifts to the left and what wraps. */
typedef enum finish_way { FINISH_SCALE, FINISH_FIXED, FINISH_RIGHT, FINISH_WIDE } finish_way;

/* What does not change from row to row. */
typedef struct finish_16 {
    float32x4_t scale[4];
    float64x2_t wide[8];
    int32x4_t multiplier[4], left[4], right[4]; /* shifts to the right are negative */
    int16x8_t zero;
    uint8x16_t lo, hi;
    finish_way way;
    bool is_unsigned;
} finish_16;

FINISH_INLINE bool finish_is_bytes(const takt_requant *q)
{
    return q->to == TAKT_REQUANT_S8 || q->to == TAKT_REQUANT_U8;
}

FINISH_INLINE sums_16 load_sums(const int32_t *p)
{
    return (sums_16){vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)};
}

/* Sixteen of `from`, whose first `n` exist; or the same for all columns. */
FINISH_INLINE void finish_load(const int32_t *from, bool is_each, size_t n, int32x4_t to[4])
{
    int32_t some[16] = {0};
    if (is_each && n < 16) {
        memcpy(some, from, n * sizeof *some);
        from = some;
    }
    for (int j = 0; j < 4; j++)
        to[j] = is_each ? vld1q_s32(from + 4 * j) : vdupq_n_s32(from[0]);
}

FINISH_INLINE void finish_wide(finish_16 *f, const double *from, bool is_each, size_t n)
{
    double some[16] = {0};
    if (is_each && n < 16) {
        memcpy(some, from, n * sizeof *some);
        from = some;
    }
    for (int j = 0; j < 8; j++)
        f->wide[j] = is_each ? vld1q_f64(from + 2 * j) : vdupq_n_f64(from[0]);
    f->way = FINISH_WIDE;
}

/* Shifts count modulo 32. */
FINISH_INLINE void finish_shifts(finish_16 *f)
{
    const int32x4_t none = vdupq_n_s32(0), most = vdupq_n_s32(31);
    uint32x4_t any = vdupq_n_u32(0);
    for (int j = 0; j < 4; j++) {
        const int32x4_t shift = f->right[j];
        const int32x4_t up = vmaxq_s32(shift, none), down = vnegq_s32(vminq_s32(shift, none));
        f->left[j] = vandq_s32(up, most);
        f->right[j] = vnegq_s32(vandq_s32(down, most));
        any = vorrq_u32(any, vcgtq_s32(f->left[j], none));
        any = vorrq_u32(any, vceqq_s32(f->multiplier[j], vdupq_n_s32(INT32_MIN)));
    }
    f->way = vmaxvq_u32(any) != 0 ? FINISH_FIXED : FINISH_RIGHT;
}

/* For columns [col, col + 16), of which `n` exist. */
FINISH_INLINE finish_16 finish_begin(const takt_requant *q, size_t col, size_t n)
{
    finish_16 f = {.zero = vdupq_n_s16((int16_t)q->zero),
                   .lo = vdupq_n_u8((uint8_t)q->lo),
                   .hi = vdupq_n_u8((uint8_t)q->hi),
                   .is_unsigned = q->to == TAKT_REQUANT_U8};
    const bool each = q->scale_per_column;
    col = each ? col : 0;
    if (q->wide != NULL) {
        finish_wide(&f, q->wide + col, each, n);
        return f;
    }
    if (q->multiplier == NULL) {
        int32x4_t bits[4];
        finish_load((const int32_t *)(const void *)(q->scale + col), each, n, bits);
        for (int j = 0; j < 4; j++)
            f.scale[j] = vreinterpretq_f32_s32(bits[j]);
        return f;
    }
    finish_load(q->multiplier + col, each, n, f.multiplier);
    finish_load(q->shift + col, each, n, f.right);
    finish_shifts(&f);
    return f;
}

/* takt_fixed_scale (fixed.h) of four sums. The product wraps where both factors are the least
 * number, but the instruction saturates. Negative ones become one less before the shift, whose
 * halves go up: then they have gone away from zero. */
FINISH_INLINE int32x4_t finish_fixed(const finish_16 *f, int j, int32x4_t x, const finish_way way)
{
    const int32x4_t m = f->multiplier[j], right = f->right[j];
    if (way == FINISH_RIGHT) {
        const int32x4_t high = vqrdmulhq_s32(x, m);
        return vrshlq_s32(vsraq_n_s32(high, vandq_s32(high, right), 31), right);
    }
    x = vshlq_s32(x, f->left[j]);
    const uint32x4_t wraps = vandq_u32(vceqq_s32(x, m), vceqq_s32(m, vdupq_n_s32(INT32_MIN)));
    const int32x4_t high = vsubq_s32(vqrdmulhq_s32(x, m), vreinterpretq_s32_u32(wraps));
    return vrshlq_s32(vqaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31)), right);
}

/* Conversion rounds halves away from zero here. */
FINISH_INLINE int32x4_t finish_doubles(const finish_16 *f, int j, int32x4_t x)
{
    const float64x2_t low = vcvtq_f64_s64(vmovl_s32(vget_low_s32(x)));
    const float64x2_t high = vcvtq_f64_s64(vmovl_high_s32(x));
    const int64x2_t a = vcvtaq_s64_f64(vmulq_f64(low, f->wide[2 * j]));
    const int64x2_t b = vcvtaq_s64_f64(vmulq_f64(high, f->wide[2 * j + 1]));
    return vqmovn_high_s64(vqmovn_s64(a), b);
}

/* Conversion rounds half to even and makes 0 of NaN; it saturates, as does everything after it. */
FINISH_INLINE int32x4_t finish_four(const finish_16 *f, int j, int32x4_t x, const finish_way way)
{
    if (way == FINISH_WIDE)
        return finish_doubles(f, j, x);
    return way == FINISH_SCALE ? vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(x), f->scale[j]))
                               : finish_fixed(f, j, x, way);
}

FINISH_INLINE int16x8_t finish_eight(const finish_16 *f, int j, int32x4_t x, int32x4_t y,
                                     const finish_way way)
{
    const int32x4_t a = finish_four(f, j, x, way), b = finish_four(f, j + 1, y, way);
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), f->zero);
}

/* The bytes of sums that have their bias already; `way`: f->way, known to the compiler. */
FINISH_INLINE uint8x16_t finish_bytes(const finish_16 *f, sums_16 s, const finish_way way)
{
    const int16x8_t x = finish_eight(f, 0, s.a, s.b, way);
    const int16x8_t y = finish_eight(f, 2, s.c, s.d, way);
    if (f->is_unsigned)
        return vminq_u8(vmaxq_u8(vqmovun_high_s16(vqmovun_s16(x), y), f->lo), f->hi);
    const int8x16_t r = vqmovn_high_s16(vqmovn_s16(x), y);
    return vreinterpretq_u8_s8(
        vminq_s8(vmaxq_s8(r, vreinterpretq_s8_u8(f->lo)), vreinterpretq_s8_u8(f->hi)));
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

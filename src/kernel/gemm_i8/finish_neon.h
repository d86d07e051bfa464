/* finish_neon.h - exact sums to bytes, sixteen columns at a time: what requant.h says, in
 * registers: by a scale, in fixed point, or by a wide scale. */
#include <arm_neon.h>

#include "kernel/gemm_i8/finish_tail.h"

#define FINISH_INLINE static inline __attribute__((always_inline))

/* Sixteen columns. */
typedef struct sums_16 {
    int32x4_t a, b, c, d;
} sums_16;

typedef uint8x16_t bytes_16;

typedef struct doubles_16 {
    float64x2_t a, b, c, d, e, f, g, h;
} doubles_16;

/* How sums become bytes; RIGHT: in fixed point, with right shifts only and nothing that wraps. A
 * compile-time constant wherever it is used, so that the rest of finish_16 costs nothing. */
typedef enum finish_way { FINISH_SCALE, FINISH_FIXED, FINISH_RIGHT, FINISH_WIDE } finish_way;

/* What does not change from row to row. */
typedef struct finish_16 {
    sums_16 scale; /* bits of floats */
    doubles_16 wide;
    sums_16 multiplier, left, right; /* shifts to the right are negative */
    int16x8_t zero;
    uint8x16_t lo, hi;
    bool is_unsigned;
} finish_16;

FINISH_INLINE bool finish_is_bytes(const takt_requant *q)
{
    return q->to == TAKT_REQUANT_S8 || q->to == TAKT_REQUANT_U8;
}

/* The sums themselves, or times a scale with nothing behind. */
FINISH_INLINE bool finish_is_words(const takt_requant *q)
{
    return q->to == TAKT_REQUANT_I32 || (q->to == TAKT_REQUANT_F32 && q->epilogue == NULL);
}

FINISH_INLINE sums_16 load_sums(const int32_t *p)
{
    return (sums_16){vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)};
}

FINISH_INLINE void store_sums(int32_t *p, sums_16 s)
{
    vst1q_s32(p, s.a);
    vst1q_s32(p + 4, s.b);
    vst1q_s32(p + 8, s.c);
    vst1q_s32(p + 12, s.d);
}

FINISH_INLINE sums_16 no_sums(void)
{
    const int32x4_t none = vdupq_n_s32(0);
    return (sums_16){none, none, none, none};
}

FINISH_INLINE sums_16 add_sums(sums_16 x, sums_16 y)
{
    return (sums_16){vaddq_s32(x.a, y.a), vaddq_s32(x.b, y.b), vaddq_s32(x.c, y.c),
                     vaddq_s32(x.d, y.d)};
}

/* x - y * times */
FINISH_INLINE sums_16 less_sums(sums_16 x, sums_16 y, int32_t times)
{
    return (sums_16){vmlsq_n_s32(x.a, y.a, times), vmlsq_n_s32(x.b, y.b, times),
                     vmlsq_n_s32(x.c, y.c, times), vmlsq_n_s32(x.d, y.d, times)};
}

/* The first `n` of sixteen, zeros behind them. */
FINISH_INLINE sums_16 load_first(const int32_t *p, size_t n)
{
    int32_t some[16] = {0};
    if (n >= 16)
        return load_sums(p);
    memcpy(some, p, n * sizeof *some);
    return load_sums(some);
}

/* For columns [col, col + 16), of which `n` exist; or the same for all. */
FINISH_INLINE sums_16 finish_load(const int32_t *p, bool is_each, size_t col, size_t n)
{
    const int32x4_t same = vdupq_n_s32(p[0]);
    return is_each ? load_first(p + col, n) : (sums_16){same, same, same, same};
}

FINISH_INLINE doubles_16 finish_doubles(const double *p, bool is_each, size_t col, size_t n)
{
    double some[16] = {0};
    const float64x2_t same = vdupq_n_f64(p[0]);
    if (!is_each)
        return (doubles_16){same, same, same, same, same, same, same, same};
    p += col;
    if (n < 16) {
        memcpy(some, p, n * sizeof *some);
        p = some;
    }
    return (doubles_16){vld1q_f64(p),     vld1q_f64(p + 2),  vld1q_f64(p + 4),  vld1q_f64(p + 6),
                        vld1q_f64(p + 8), vld1q_f64(p + 10), vld1q_f64(p + 12), vld1q_f64(p + 14)};
}

/* Shifts count modulo 32. */
FINISH_INLINE int32x4_t finish_left(int32x4_t shift)
{
    return vandq_s32(vmaxq_s32(shift, vdupq_n_s32(0)), vdupq_n_s32(31));
}

FINISH_INLINE int32x4_t finish_right(int32x4_t shift)
{
    const int32x4_t down = vnegq_s32(vminq_s32(shift, vdupq_n_s32(0)));
    return vnegq_s32(vandq_s32(down, vdupq_n_s32(31)));
}

/* Where a shift does not go to the right, or a multiplier is the least number. Columns that do not
 * exist have a multiplier of 0, whose products are 0. */
FINISH_INLINE uint32x4_t finish_wraps(int32x4_t multiplier, int32x4_t shift)
{
    const uint32x4_t stays =
        vandq_u32(vceqzq_s32(finish_right(shift)), vtstq_s32(multiplier, multiplier));
    return vorrq_u32(vorrq_u32(stays, vcgtzq_s32(shift)),
                     vceqq_s32(multiplier, vdupq_n_s32(INT32_MIN)));
}

FINISH_INLINE finish_way finish_way_of(const takt_requant *q, size_t col, size_t n)
{
    if (q->wide != NULL)
        return FINISH_WIDE;
    if (q->multiplier == NULL)
        return FINISH_SCALE;
    if (q->goes_right)
        return FINISH_RIGHT;
    const sums_16 m = finish_load(q->multiplier, q->scale_per_column, col, n),
                  s = finish_load(q->shift, q->scale_per_column, col, n);
    const uint32x4_t some = vorrq_u32(finish_wraps(m.a, s.a), finish_wraps(m.b, s.b)),
                     more = vorrq_u32(finish_wraps(m.c, s.c), finish_wraps(m.d, s.d));
    return vmaxvq_u32(vorrq_u32(some, more)) != 0 ? FINISH_FIXED : FINISH_RIGHT;
}

FINISH_INLINE finish_16 finish_begin(const takt_requant *q, size_t col, size_t n,
                                     const finish_way way)
{
    const bool each = q->scale_per_column;
    finish_16 f = {.zero = vdupq_n_s16((int16_t)q->zero),
                   .lo = vdupq_n_u8((uint8_t)q->lo),
                   .hi = vdupq_n_u8((uint8_t)q->hi),
                   .is_unsigned = q->to == TAKT_REQUANT_U8};
    if (way == FINISH_WIDE) {
        f.wide = finish_doubles(q->wide, each, col, n);
    } else if (way == FINISH_SCALE) {
        f.scale = finish_load((const int32_t *)(const void *)q->scale, each, col, n);
    } else {
        const sums_16 s = finish_load(q->shift, each, col, n);
        f.multiplier = finish_load(q->multiplier, each, col, n);
        f.right = s;
        if (way == FINISH_FIXED || !q->goes_right)
            f.right = (sums_16){finish_right(s.a), finish_right(s.b), finish_right(s.c),
                                finish_right(s.d)};
        f.left = (sums_16){finish_left(s.a), finish_left(s.b), finish_left(s.c), finish_left(s.d)};
    }
    return f;
}

/* takt_fixed_scale (fixed.h) of four sums. Negative ones become one less before the shift, whose
 * halves go up: then they have gone away from zero. A shift by 0 does not round. */
FINISH_INLINE int32x4_t finish_down(int32x4_t x, int32x4_t m, int32x4_t right)
{
    const int32x4_t high = vqrdmulhq_s32(x, m);
    return vrshlq_s32(vsraq_n_s32(high, high, 31), right);
}

/* The same of any shifts and multipliers. The product wraps where both factors are the least
 * number, but the instruction saturates. */
FINISH_INLINE int32x4_t finish_any(int32x4_t sum, int32x4_t m, int32x4_t left, int32x4_t right)
{
    const int32x4_t x = vshlq_s32(sum, left);
    const uint32x4_t wraps = vandq_u32(vceqq_s32(x, m), vceqq_s32(m, vdupq_n_s32(INT32_MIN)));
    const int32x4_t high = vsubq_s32(vqrdmulhq_s32(x, m), vreinterpretq_s32_u32(wraps));
    return vrshlq_s32(vqaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31)), right);
}

/* Conversion rounds halves away from zero here. */
FINISH_INLINE int32x4_t finish_double(int32x4_t x, float64x2_t low, float64x2_t high)
{
    const float64x2_t a = vmulq_f64(vcvtq_f64_s64(vmovl_s32(vget_low_s32(x))), low);
    const float64x2_t b = vmulq_f64(vcvtq_f64_s64(vmovl_high_s32(x)), high);
    return vqmovn_high_s64(vqmovn_s64(vcvtaq_s64_f64(a)), vcvtaq_s64_f64(b));
}

/* Conversion rounds half to even here, and turns NaN into 0. */
FINISH_INLINE int32x4_t finish_float(int32x4_t x, int32x4_t scale)
{
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(x), vreinterpretq_f32_s32(scale)));
}

FINISH_INLINE sums_16 finish_levels(const finish_16 *f, sums_16 s, const finish_way way)
{
    const sums_16 *m = &f->multiplier, *l = &f->left, *r = &f->right, *by = &f->scale;
    const doubles_16 *w = &f->wide;
    if (way == FINISH_WIDE)
        return (sums_16){finish_double(s.a, w->a, w->b), finish_double(s.b, w->c, w->d),
                         finish_double(s.c, w->e, w->f), finish_double(s.d, w->g, w->h)};
    if (way == FINISH_SCALE)
        return (sums_16){finish_float(s.a, by->a), finish_float(s.b, by->b),
                         finish_float(s.c, by->c), finish_float(s.d, by->d)};
    if (way == FINISH_RIGHT)
        return (sums_16){finish_down(s.a, m->a, r->a), finish_down(s.b, m->b, r->b),
                         finish_down(s.c, m->c, r->c), finish_down(s.d, m->d, r->d)};
    return (sums_16){finish_any(s.a, m->a, l->a, r->a), finish_any(s.b, m->b, l->b, r->b),
                     finish_any(s.c, m->c, l->c, r->c), finish_any(s.d, m->d, l->d, r->d)};
}

/* The bytes of sums that have their bias already. Everything behind the levels saturates. */
FINISH_INLINE uint8x16_t finish_bytes(const finish_16 *f, sums_16 s, const finish_way way)
{
    const sums_16 v = finish_levels(f, s, way);
    const int16x8_t x = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(v.a), v.b), f->zero);
    const int16x8_t y = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(v.c), v.d), f->zero);
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
    finish_tail(to, vget_lane_u64(vreinterpret_u64_u8(part), 0), n);
}

FINISH_INLINE void finish_put(uint8_t *to, uint8x16_t y, size_t n)
{
    if (n == 16)
        vst1q_u8(to, y);
    else
        finish_some(to, y, n);
}

FINISH_INLINE int32x4_t finish_word(int32x4_t x, int32x4_t scale)
{
    return vreinterpretq_s32_f32(vmulq_f32(vcvtq_f32_s32(x), vreinterpretq_f32_s32(scale)));
}

/* Bits of the sums as floats, times a scale. */
FINISH_INLINE sums_16 finish_floats(sums_16 s, sums_16 scale)
{
    return (sums_16){finish_word(s.a, scale.a), finish_word(s.b, scale.b),
                     finish_word(s.c, scale.c), finish_word(s.d, scale.d)};
}

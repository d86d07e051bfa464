/* finish_x86.h - exact sums to bytes, sixteen columns at a time: what requant.h says, in registers
 * of AVX2 and AVX-512: by a scale, in fixed point, or by a wide scale.
 *
 * Everything but the few functions that the vocabulary of simd.h lacks is written once for both.
 */
#include "kernel/gemm_i8/finish_tail.h"
#include "kernel/simd/simd.h"

#define FINISH_INLINE static inline __attribute__((always_inline))

enum { FINISH_PARTS = 16 / VF };

/* Sixteen columns. */
typedef struct sums_16 {
    vi at[FINISH_PARTS];
} sums_16;

typedef __m128i bytes_16;

/* How sums become bytes; RIGHT: in fixed point, with right shifts only. A compile-time constant
 * wherever it is used, so that the rest of finish_16 costs nothing. */
typedef enum finish_way { FINISH_SCALE, FINISH_FIXED, FINISH_RIGHT, FINISH_WIDE } finish_way;

/* What does not change from row to row. */
typedef struct finish_16 {
    sums_16 scale; /* bits of floats */
    vd wide[2 * FINISH_PARTS], wide_lo, wide_hi;
    sums_16 multiplier, left, right, below; /* below: the bits that a shift to the right drops */
    vi zero, lo, hi;                        /* bounds before zero is added */
} finish_16;

/* ---- what differs between the two ---- */

#if VF == 16
FINISH_INLINE vi finish_shl(vi x, vi by)
{
    return _mm512_sllv_epi32(x, by);
}
FINISH_INLINE vi finish_sar(vi x, vi by)
{
    return _mm512_srav_epi32(x, by);
}

/* Bits 31 to 62 of x * m + 2^30. */
FINISH_INLINE vi finish_high(vi x, vi m)
{
    const vi half = _mm512_set1_epi64(INT64_C(1) << 30);
    const vi even = _mm512_mul_epi32(x, m),
             odd = _mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(m, 32));
    return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(_mm512_add_epi64(even, half), 31),
                                   _mm512_slli_epi64(_mm512_add_epi64(odd, half), 1));
}

/* y + 1 where x > bound. */
FINISH_INLINE vi finish_more(vi y, vi x, vi bound)
{
    return _mm512_mask_add_epi32(y, _mm512_cmpgt_epi32_mask(x, bound), y, _mm512_set1_epi32(1));
}

FINISH_INLINE __m512d finish_between(__m512d x, __m512d lo, __m512d hi)
{
    return _mm512_min_pd(_mm512_max_pd(x, lo), hi);
}

FINISH_INLINE vd finish_low_half(vi x)
{
    return _mm512_cvtepi32_pd(_mm512_castsi512_si256(x));
}

FINISH_INLINE vd finish_high_half(vi x)
{
    return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1));
}

FINISH_INLINE vi finish_whole(vd low, vd high)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvttpd_epi32(low)),
                              _mm512_cvttpd_epi32(high), 1);
}

FINISH_INLINE bytes_16 finish_pack(sums_16 s)
{
    return _mm512_cvtepi32_epi8(s.at[0]);
}

FINISH_INLINE void finish_some(uint8_t *to, bytes_16 y, size_t n)
{
    _mm_mask_storeu_epi8(to, (__mmask16)((1u << n) - 1), y);
}
#else
FINISH_INLINE vi finish_shl(vi x, vi by)
{
    return _mm256_sllv_epi32(x, by);
}
FINISH_INLINE vi finish_sar(vi x, vi by)
{
    return _mm256_srav_epi32(x, by);
}

/* Bits 31 to 62 of x * m + 2^30. */
FINISH_INLINE vi finish_high(vi x, vi m)
{
    const vi half = _mm256_set1_epi64x(INT64_C(1) << 30);
    const vi even = _mm256_mul_epi32(x, m),
             odd = _mm256_mul_epi32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(m, 32));
    return _mm256_blend_epi32(_mm256_srli_epi64(_mm256_add_epi64(even, half), 31),
                              _mm256_slli_epi64(_mm256_add_epi64(odd, half), 1), 0xaa);
}

/* y + 1 where x > bound. */
FINISH_INLINE vi finish_more(vi y, vi x, vi bound)
{
    return _mm256_sub_epi32(y, _mm256_cmpgt_epi32(x, bound));
}

FINISH_INLINE __m256d finish_between(__m256d x, __m256d lo, __m256d hi)
{
    return _mm256_min_pd(_mm256_max_pd(x, lo), hi);
}

FINISH_INLINE vd finish_low_half(vi x)
{
    return _mm256_cvtepi32_pd(_mm256_castsi256_si128(x));
}

FINISH_INLINE vd finish_high_half(vi x)
{
    return _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1));
}

FINISH_INLINE vi finish_whole(vd low, vd high)
{
    return _mm256_set_m128i(_mm256_cvttpd_epi32(high), _mm256_cvttpd_epi32(low));
}

FINISH_INLINE bytes_16 finish_pack(sums_16 s)
{
    const vi byte = _mm256_set1_epi32(255);
    const vi both =
        _mm256_packus_epi32(_mm256_and_si256(s.at[0], byte), _mm256_and_si256(s.at[1], byte));
    const vi order = _mm256_permute4x64_epi64(both, 0xd8);
    return _mm_packus_epi16(_mm256_castsi256_si128(order), _mm256_extracti128_si256(order, 1));
}

/* The first n < 16 bytes of y. */
FINISH_INLINE void finish_some(uint8_t *to, bytes_16 y, size_t n)
{
    if (n & 8) {
        _mm_storel_epi64((__m128i *)(void *)to, y);
        y = _mm_unpackhi_epi64(y, y);
        to += 8;
    }
    finish_tail(to, (uint64_t)_mm_cvtsi128_si64(y), n);
}
#endif

/* ---- sums ---- */

#define FINISH_EACH(i) for (size_t i = 0; i < FINISH_PARTS; i++)

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
    sums_16 s;
    FINISH_EACH(i)
    s.at[i] = vi_load(p + i * VF);
    return s;
}

FINISH_INLINE void store_sums(int32_t *p, sums_16 s)
{
    FINISH_EACH(i)
    vi_store(p + i * VF, s.at[i]);
}

FINISH_INLINE sums_16 same_sums(int32_t x)
{
    sums_16 s;
    FINISH_EACH(i)
    s.at[i] = vi_set1(x);
    return s;
}

FINISH_INLINE sums_16 no_sums(void)
{
    return same_sums(0);
}

/* How many of `n` columns lie in part i. */
FINISH_INLINE size_t finish_count(size_t n, size_t i, size_t width)
{
    const size_t left = n > i * width ? n - i * width : 0;
    return left < width ? left : width;
}

/* The first `n` of sixteen, zeros behind them. */
FINISH_INLINE sums_16 load_first(const int32_t *p, size_t n)
{
    sums_16 s;
    if (n >= 16)
        return load_sums(p);
    FINISH_EACH(i)
    s.at[i] = vi_load_n(p + i * VF, finish_count(n, i, VF));
    return s;
}

FINISH_INLINE sums_16 add_sums(sums_16 x, sums_16 y)
{
    FINISH_EACH(i)
    x.at[i] = vi_add(x.at[i], y.at[i]);
    return x;
}

/* x - y * times */
FINISH_INLINE sums_16 less_sums(sums_16 x, sums_16 y, int32_t times)
{
    FINISH_EACH(i)
    x.at[i] = vi_sub(x.at[i], vi_mul(y.at[i], vi_set1(times)));
    return x;
}

/* Bits of the sums as floats, times a scale. */
FINISH_INLINE sums_16 finish_floats(sums_16 s, sums_16 scale)
{
    FINISH_EACH(i)
    s.at[i] = vf_as_vi(vf_mul(vf_from_vi(s.at[i]), vi_as_vf(scale.at[i])));
    return s;
}

/* ---- bytes ---- */

/* For columns [col, col + 16), of which `n` exist; or the same for all. */
FINISH_INLINE sums_16 finish_load(const int32_t *p, bool is_each, size_t col, size_t n)
{
    return is_each ? load_first(p + col, n) : same_sums(p[0]);
}

FINISH_INLINE finish_way finish_way_of(const takt_requant *q, size_t col, size_t n)
{
    (void)col, (void)n;
    if (q->wide != NULL)
        return FINISH_WIDE;
    return q->multiplier == NULL ? FINISH_SCALE : q->goes_right ? FINISH_RIGHT : FINISH_FIXED;
}

FINISH_INLINE void finish_set_shifts(finish_16 *f, sums_16 shift)
{
    const vi none = vi_set1(0), most = vi_set1(31), one = vi_set1(1);
    FINISH_EACH(i)
    {
        f->left.at[i] = vi_and(vi_max(shift.at[i], none), most);
        f->right.at[i] = vi_and(vi_sub(none, vi_min(shift.at[i], none)), most);
        f->below.at[i] = vi_sub(finish_shl(one, f->right.at[i]), one);
    }
}

FINISH_INLINE void finish_set_wide(finish_16 *f, const takt_requant *q, size_t col, size_t n)
{
    f->wide_lo = vd_set1((double)(q->lo - q->zero));
    f->wide_hi = vd_set1((double)(q->hi - q->zero));
    for (size_t i = 0; i < 2 * FINISH_PARTS; i++)
        f->wide[i] = q->scale_per_column ? vd_load_n(q->wide + col + i * VD, finish_count(n, i, VD))
                                         : vd_set1(q->wide[0]);
}

FINISH_INLINE finish_16 finish_begin(const takt_requant *q, size_t col, size_t n,
                                     const finish_way way)
{
    const bool each = q->scale_per_column;
    finish_16 f;
    f.zero = vi_set1(q->zero);
    f.lo = vi_set1(q->lo - q->zero);
    f.hi = vi_set1(q->hi - q->zero);
    if (way == FINISH_WIDE) {
        finish_set_wide(&f, q, col, n);
    } else if (way == FINISH_SCALE) {
        f.scale = finish_load((const int32_t *)(const void *)q->scale, each, col, n);
    } else {
        f.multiplier = finish_load(q->multiplier, each, col, n);
        finish_set_shifts(&f, finish_load(q->shift, each, col, n));
    }
    return f;
}

/* takt_fixed_scale (fixed.h). */
FINISH_INLINE vi finish_fixed(const finish_16 *f, vi x, size_t i, const finish_way way)
{
    const vi high =
        finish_high(way == FINISH_RIGHT ? x : finish_shl(x, f->left.at[i]), f->multiplier.at[i]);
    const vi half = vi_sub(vi_sar(f->below.at[i], 1), vi_sar(high, 31));
    return finish_more(finish_sar(high, f->right.at[i]), vi_and(high, f->below.at[i]), half);
}

/* Rounded half away from zero: the fraction is exact, and so is its double. */
FINISH_INLINE vd finish_double(const finish_16 *f, vd x, vd scale)
{
    const vd kept = finish_between(vd_mul(x, scale), f->wide_lo, f->wide_hi);
    const vd whole = vd_trunc(kept), rest = vd_sub(kept, whole);
    return vd_add(whole, vd_trunc(vd_add(rest, rest)));
}

FINISH_INLINE vi finish_level(const finish_16 *f, vi x, size_t i, const finish_way way)
{
    if (way == FINISH_WIDE)
        return finish_whole(finish_double(f, finish_low_half(x), f->wide[2 * i]),
                            finish_double(f, finish_high_half(x), f->wide[2 * i + 1]));
    if (way == FINISH_SCALE)
        return vi_round(vf_mul(vf_from_vi(x), vi_as_vf(f->scale.at[i])));
    return finish_fixed(f, x, i, way);
}

/* The bytes of sums that have their bias already. */
FINISH_INLINE bytes_16 finish_bytes(const finish_16 *f, sums_16 s, const finish_way way)
{
    FINISH_EACH(i)
    s.at[i] = vi_add(vi_min(vi_max(finish_level(f, s.at[i], i, way), f->lo), f->hi), f->zero);
    return finish_pack(s);
}

FINISH_INLINE void finish_put(uint8_t *to, bytes_16 y, size_t n)
{
    if (n == 16)
        _mm_storeu_si128((__m128i *)(void *)to, y);
    else
        finish_some(to, y, n);
}

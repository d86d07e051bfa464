/* simd_avx2_f64.h - four lanes of double on x86-64 with AVX2. */
#ifndef TAKT_KERNEL_SIMD_SIMD_AVX2_F64_H
#define TAKT_KERNEL_SIMD_SIMD_AVX2_F64_H

#include "kernel/simd/simd_avx2.h"

#define VD 4

typedef __m256d vd;
typedef __m256i vl;
typedef __m256d vmd;

/* A table: one function a line. */
/* clang-format off */
static inline vl simd_first_f64(size_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline vd vd_load(const double *p) { return _mm256_loadu_pd(p); }
static inline void vd_store(double *p, vd v) { _mm256_storeu_pd(p, v); }
static inline vd vd_load_n(const double *p, size_t n)
{
    if (n >= VD)
        return _mm256_loadu_pd(p);
    const __m128d one = n & 1 ? _mm_load_sd(p + (n & 2)) : _mm_setzero_pd();
    return n < 2 ? _mm256_set_m128d(_mm_setzero_pd(), one) : _mm256_set_m128d(one, _mm_loadu_pd(p));
}
static inline void vd_store_n(double *p, vd v, size_t n)
{
    _mm256_maskstore_pd(p, simd_first_f64(n), v);
}
static inline vd vd_set1(double x) { return _mm256_set1_pd(x); }
static inline vd vd_add(vd a, vd b) { return _mm256_add_pd(a, b); }
static inline vd vd_sub(vd a, vd b) { return _mm256_sub_pd(a, b); }
static inline vd vd_mul(vd a, vd b) { return _mm256_mul_pd(a, b); }
static inline vd vd_div(vd a, vd b) { return _mm256_div_pd(a, b); }
static inline vd vd_sqrt(vd a) { return _mm256_sqrt_pd(a); }
static inline vd vd_fma(vd a, vd b, vd c) { return _mm256_fmadd_pd(a, b, c); }
static inline vd vd_fnma(vd a, vd b, vd c) { return _mm256_fnmadd_pd(a, b, c); }
static inline vd vd_min(vd a, vd b)
{
    const vd number = _mm256_or_pd(_mm256_min_pd(a, b), _mm256_min_pd(b, a));
    return _mm256_blendv_pd(number, _mm256_add_pd(a, b), _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
}
static inline vd vd_max(vd a, vd b)
{
    const vd number = _mm256_and_pd(_mm256_max_pd(a, b), _mm256_max_pd(b, a));
    return _mm256_blendv_pd(number, _mm256_add_pd(a, b), _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
}
static inline vd vd_larger(vd a, vd b) { return _mm256_max_pd(a, b); }
static inline vd vd_floor(vd a)
{
    return _mm256_round_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vd vd_ceil(vd a)
{
    return _mm256_round_pd(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vd vd_trunc(vd a)
{
    return _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
static inline vd vd_round(vd a)
{
    return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vmd vd_eq(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
static inline vmd vd_ne(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_NEQ_UQ); }
static inline vmd vd_lt(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
static inline vmd vd_le(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_LE_OQ); }
static inline vmd vd_gt(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
static inline vmd vd_ge(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_GE_OQ); }
static inline vd vd_select(vmd m, vd a, vd b) { return _mm256_blendv_pd(b, a, m); }

static inline vl vd_as_vl(vd a) { return _mm256_castpd_si256(a); }
static inline vd vl_as_vd(vl a) { return _mm256_castsi256_pd(a); }

static inline vmd vmd_and(vmd a, vmd b) { return _mm256_and_pd(a, b); }
static inline vmd vmd_or(vmd a, vmd b) { return _mm256_or_pd(a, b); }
static inline vmd vmd_xor(vmd a, vmd b) { return _mm256_xor_pd(a, b); }
static inline vmd vmd_not(vmd a) { return _mm256_xor_pd(a, vl_as_vd(_mm256_set1_epi32(-1))); }
static inline bool vmd_any(vmd a) { return _mm256_movemask_pd(a) != 0; }

static inline vl vl_set1(int64_t x) { return _mm256_set1_epi64x((long long)x); }
static inline vl vl_add(vl a, vl b) { return _mm256_add_epi64(a, b); }
static inline vl vl_sub(vl a, vl b) { return _mm256_sub_epi64(a, b); }
static inline vl vl_and(vl a, vl b) { return _mm256_and_si256(a, b); }
static inline vl vl_or(vl a, vl b) { return _mm256_or_si256(a, b); }
static inline vl vl_xor(vl a, vl b) { return _mm256_xor_si256(a, b); }
static inline vl vl_shl(vl a, int n) { return _mm256_slli_epi64(a, n); }
static inline vl vl_shr(vl a, int n) { return _mm256_srli_epi64(a, n); }
static inline vmd vl_eq(vl a, vl b) { return vl_as_vd(_mm256_cmpeq_epi64(a, b)); }

static inline vd vd_lo(vf a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
static inline vd vd_hi(vf a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
static inline vf vf_from_vd(vd lo, vd hi)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(hi), _mm256_cvtpd_ps(lo));
}

static inline vmd vmd_load_u8(const uint8_t *p)
{
    uint32_t t;
    memcpy(&t, p, sizeof t);
    const vl wide = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)t));
    return vmd_not(vl_eq(wide, _mm256_setzero_si256()));
}
static inline void vmd_store_u8(uint8_t *p, vmd m)
{
    const int bits = _mm256_movemask_pd(m);
    for (int i = 0; i < VD; i++)
        p[i] = (uint8_t)(bits >> i & 1);
}

/* clang-format on */

#endif
